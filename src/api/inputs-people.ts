import { decodeSegment } from '../http/segments.js'
import type { Incoming } from '../gate/pipeline.js'
import { normalAddress, parsePerson, type PersonId } from '../model/addresses.js'
import { Failure } from '../model/failures.js'
import { isHex } from '../model/ids.js'
import { personName } from '../model/people.js'

const DEVICE_ID_HEX_DIGITS = 32

/** The person that the path names. */
export function pathPerson(incoming: Incoming): { email: PersonId } {
  return { email: parsePerson(decodeSegment(incoming.params['email'] ?? '')) }
}

export function pathDevice(incoming: Incoming): { device: string } {
  const device = decodeSegment(incoming.params['device'] ?? '')
  if (!isHex(device, DEVICE_ID_HEX_DIGITS)) {
    throw new Failure('badArgs', 'the identifier of the device is malformed')
  }
  return { device }
}

export function bodyObject(json: unknown): Record<string, unknown> {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new Failure('badArgs', 'the body must be a JSON object')
  }
  return json as Record<string, unknown>
}

/** The value of a key, whatever it is; undefined when the body does not have it. */
export function bodyValue(body: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(body, key) ? body[key] : undefined
}

export interface NewPerson {
  readonly email: string
  readonly firstName: string
  readonly lastName: string
}

/** All three; every other key is ignored. */
export function newPerson(json: unknown): NewPerson {
  const body = bodyObject(json)
  return {
    email: normalAddress(bodyValue(body, 'email')),
    firstName: personName(bodyValue(body, 'first_name'), 'first_name'),
    lastName: personName(bodyValue(body, 'last_name'), 'last_name'),
  }
}

export interface Names {
  readonly firstName?: string
  readonly lastName?: string
}

/** One or both. A name that is there is judged, also when it is null. */
export function newNames(json: unknown): Names {
  const body = bodyObject(json)
  const hasFirst = Object.hasOwn(body, 'first_name')
  const hasLast = Object.hasOwn(body, 'last_name')
  if (!hasFirst && !hasLast) throw new Failure('badArgs', 'the body has neither first_name nor last_name')
  return {
    ...(hasFirst ? { firstName: personName(body['first_name'], 'first_name') } : {}),
    ...(hasLast ? { lastName: personName(body['last_name'], 'last_name') } : {}),
  }
}
