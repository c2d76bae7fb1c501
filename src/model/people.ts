import { Failure } from './failures.js'

/** In code points. */
const PERSON_NAME_LENGTH_MAX = 255

/** What a person or a device is called: trimmed; refused in words that begin with the key it came under. */
export function personName(value: unknown, key: string): string {
  if (value === undefined || value === null) throw new Failure('badArgs', `${key} is missing`)
  if (typeof value !== 'string') throw new Failure('badArgs', `${key} must be a string`)
  const name = value.trim()
  if (name === '') throw new Failure('badArgs', `${key} must not be empty`)
  if (isTooLong(name)) {
    throw new Failure('badArgs', `${key} must not be longer than ${PERSON_NAME_LENGTH_MAX} characters`)
  }
  if (REFUSED.test(name)) throw new Failure('badArgs', `${key} must not contain control characters`)
  return name
}

// Control characters and halves of surrogate pairs.
const REFUSED = /[\p{Cc}\p{Surrogate}]/u

function isTooLong(name: string): boolean {
  if (name.length <= PERSON_NAME_LENGTH_MAX) return false
  if (name.length > 2 * PERSON_NAME_LENGTH_MAX) return true
  return Array.from(name).length > PERSON_NAME_LENGTH_MAX
}

/** A password is taken exactly as it is; its length counts characters as people do. */
export function checkPassword(value: unknown, lengthMin: number): string {
  if (typeof value !== 'string') throw new Failure('badArgs', 'the password must be a JSON string')
  if (value.length > PASSWORD_LENGTH_MAX) {
    throw new Failure('badArgs', `the password must have at most ${PASSWORD_LENGTH_MAX} characters`)
  }
  if (Array.from(value).length < lengthMin) {
    throw new Failure('badArgs', `the password must have at least ${lengthMin} characters`)
  }
  return value
}

/** A slow hash of a huge text would be a way to keep the server busy. */
export const PASSWORD_LENGTH_MAX = 4096
