import { Failure } from './failures.js'

/** The id of a group is the decimal form of a random number of 32 bits. */
export const GROUP_ID_MAX = 4_294_967_295

const FORM = /^[1-9][0-9]{0,9}$/

export function isGroupId(text: string): boolean {
  return FORM.test(text) && Number(text) <= GROUP_ID_MAX
}

export function checkGroupId(value: unknown, key: string): string {
  if (value === undefined || value === null) throw new Failure('badArgs', `${key} is missing`)
  if (typeof value !== 'string' || !isGroupId(value)) {
    throw new Failure('badArgs', `${key} must be the identifier of a group`)
  }
  return value
}

/** In characters. */
const GROUP_NAME_LENGTH_MAX = 255

/** Trimmed. */
export function checkGroupName(value: unknown): string {
  if (value === undefined || value === null) throw new Failure('badArgs', 'name is missing')
  if (typeof value !== 'string') throw new Failure('badArgs', 'name must be a string')
  const name = value.trim()
  if (name === '') throw new Failure('badArgs', 'name must not be blank')
  if (Array.from(name).length > GROUP_NAME_LENGTH_MAX) {
    throw new Failure('badArgs', `name must not be longer than ${GROUP_NAME_LENGTH_MAX} characters`)
  }
  if (FORBIDDEN.test(name)) throw new Failure('badArgs', 'name must not contain control characters')
  return name
}

const FORBIDDEN = /[\p{Cc}\p{Surrogate}]/u
