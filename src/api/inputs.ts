import { decodeSegment } from '../http/segments.js'
import { parseQuery } from '../http/query.js'
import type { Incoming } from '../gate/pipeline.js'
import { Failure } from '../model/failures.js'
import { parseId, type ParsedId } from '../model/ids.js'
import { checkName } from '../model/names.js'
import { V1_2, within } from '../model/version.js'

/** The identifier in the path; a route without one means the root. */
export function pathId(incoming: Incoming): { id: ParsedId } {
  const raw = incoming.params['id']
  if (raw === undefined) return { id: { alias: 'root' } }
  const id = parseId(decodeSegment(raw))
  if (id === undefined) throw new Failure('badArgs', 'the identifier in the path is malformed')
  return { id }
}

/** The on-demand fields that are asked for, among those that the resource has; older versions do not know the parameter. */
export function wantedFields<Name extends string>(
  incoming: Incoming,
  names: readonly Name[],
): ReadonlySet<Name> {
  if (incoming.exchange.rawQuery === '' || !within(incoming.version, V1_2)) return NO_FIELDS
  const wanted = parseQuery(incoming.exchange.rawQuery)
    .all('fields')
    .flatMap((list) => list.split(','))
  return new Set(names.filter((name) => wanted.includes(name)))
}

const NO_FIELDS: ReadonlySet<never> = new Set()

export function objectBody(json: unknown): Record<string, unknown> {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new Failure('badArgs', 'the body must be a JSON object')
  }
  return json as Record<string, unknown>
}

function bodyId(value: unknown): ParsedId {
  const id = typeof value === 'string' ? parseId(value) : undefined
  if (id === undefined) throw new Failure('badArgs', 'parent must be the identifier of a folder')
  return id
}

/** A `null` counts as absent. */
export function given(body: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(body, key) ? (body[key] ?? undefined) : undefined
}

export interface NewObject {
  readonly parent: ParsedId
  readonly name: string
}

/** The body of a POST: name and parent, both. Every other key is ignored. */
export function newObject(json: unknown): NewObject {
  const body = objectBody(json)
  const name = checkName(given(body, 'name'))
  return { name, parent: bodyId(given(body, 'parent')) }
}

export interface PlacedObject {
  readonly id: ParsedId
  readonly parent?: ParsedId
  readonly name?: string
}

/** The body of a PUT: name, parent or both. */
export function placedObject(json: unknown, input: { id: ParsedId }): PlacedObject {
  const body = objectBody(json)
  const name = given(body, 'name')
  const parent = given(body, 'parent')
  if (name === undefined && parent === undefined)
    throw new Failure('badArgs', 'the body has neither name nor parent')
  return {
    id: input.id,
    ...(name === undefined ? {} : { name: checkName(name) }),
    ...(parent === undefined ? {} : { parent: bodyId(parent) }),
  }
}
