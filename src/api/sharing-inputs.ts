/** What the routes of shared folders and groups read from path, query and body. */
import type { Incoming } from '../gate/pipeline.js'
import { parseQuery } from '../http/query.js'
import { decodeSegment } from '../http/segments.js'
import { normalAddress, parsePerson, type PersonId } from '../model/addresses.js'
import { Failure } from '../model/failures.js'
import { checkGroupId, checkGroupName, isGroupId } from '../model/groups.js'
import { isHex, ZERO_OID } from '../model/ids.js'
import { checkName } from '../model/names.js'
import { parsePermissions } from '../model/permissions.js'
import { given, objectBody } from './inputs.js'

export interface ShareInput {
  readonly share: string
}

export function pathShare(incoming: Incoming): ShareInput {
  const share = decodeSegment(incoming.params['share'] ?? '')
  if (!isHex(share, ZERO_OID.length)) {
    throw new Failure('badArgs', 'the identifier of the shared folder in the path is malformed')
  }
  return { share }
}

export interface PersonInput {
  readonly person: PersonId
}

export function pathPerson(incoming: Incoming): PersonInput {
  return { person: parsePerson(decodeSegment(incoming.params['email'] ?? '')) }
}

/** Clients in the field ask for a group at the address of a member. */
export function pathMemberOrGroup(incoming: Incoming): { named: PersonId | string } {
  const text = decodeSegment(incoming.params['email'] ?? '')
  return { named: isGroupId(text) ? text : parsePerson(text) }
}

export interface GroupInput {
  readonly group: string
}

export function pathGroup(incoming: Incoming): GroupInput {
  return { group: checkGroupId(decodeSegment(incoming.params['group'] ?? ''), 'the group in the path') }
}

/** `?external=0|1`, absent means 0. */
export function queryExternal(incoming: Incoming): { isExternal: boolean } {
  const values = parseQuery(incoming.exchange.rawQuery).all('external')
  const [value = '0'] = values
  if (values.length > 1 || (value !== '0' && value !== '1')) {
    throw new Failure('badArgs', 'external must be 0 or 1, and be given once')
  }
  return { isExternal: value === '1' }
}

const RESULTS_DEFAULT = 10
const RESULTS_MAX = 1000

export function queryGroups(incoming: Incoming): { offset: number; results: number } {
  return {
    offset: queryNumber(incoming, 'offset', 0, Number.MAX_SAFE_INTEGER),
    results: queryNumber(incoming, 'results', RESULTS_DEFAULT, RESULTS_MAX),
  }
}

function queryNumber(incoming: Incoming, name: string, fallback: number, most: number): number {
  const values = parseQuery(incoming.exchange.rawQuery).all(name)
  const [value] = values
  if (value === undefined) return fallback
  const number = Number(value)
  if (values.length > 1 || !/^\d+$/.test(value) || (most === RESULTS_MAX && number > most)) {
    throw new Failure('badArgs', `${name} must be a whole number${most === RESULTS_MAX ? ' up to 1000' : ''}`)
  }
  return Math.min(number, most)
}

export interface NewShareInput {
  readonly name: string
  readonly isExternal: boolean
}

/** Answers call the flag by two names, so either may be sent. */
export function newShare(json: unknown): NewShareInput {
  const body = objectBody(json)
  const flags = ['is_external', 'external'].filter((key) => Object.hasOwn(body, key))
  for (const key of flags) {
    if (typeof body[key] !== 'boolean') throw new Failure('badArgs', `${key} must be true or false`)
  }
  if (flags.length === 2 && body['is_external'] !== body['external']) {
    throw new Failure('badArgs', 'is_external and external must be the same')
  }
  return { name: checkName(given(body, 'name')), isExternal: flags.some((key) => body[key] === true) }
}

export interface GrantedInput {
  readonly permissions: number
}

/** The body of a PUT: nothing but permissions counts. */
export function granted(json: unknown): GrantedInput {
  return { permissions: parsePermissions(given(objectBody(json), 'permissions')) }
}

export interface AddressInput {
  readonly email: string
}

export function bodyAddress(json: unknown): AddressInput {
  return { email: normalAddress(given(objectBody(json), 'email')) }
}

export interface NoteInput {
  readonly note: string | undefined
}

/** Words for the mail of an invitation. */
export function bodyNote(json: unknown): NoteInput {
  const note = given(objectBody(json), 'note')
  if (note !== undefined && typeof note !== 'string') throw new Failure('badArgs', 'note must be a string')
  return { note: note?.replaceAll(UNPRINTABLE, '') }
}

// No mail can carry these; line breaks and tabs it can.
const UNPRINTABLE = /(?![\n\t])[\p{Cc}\p{Surrogate}]/gu

export function bodyGroup(json: unknown): { id: string } {
  return { id: checkGroupId(given(objectBody(json), 'id'), 'id') }
}

export function newGroup(json: unknown): { name: string } {
  return { name: checkGroupName(given(objectBody(json), 'name')) }
}
