import { Failure } from './failures.js'

/** In characters, the `@` included: 64 before it and 255 behind it. */
const ADDRESS_LENGTH_MAX = 320

/** A person as a path names one, before anybody is looked up. */
export type PersonId = { readonly alias: 'me' } | { readonly email: string }

/** Trimmed and lower-cased: one `@` with something on both sides, no white space and no control characters. */
export function normalAddress(value: unknown, key = 'email'): string {
  if (value === undefined || value === null) throw new Failure('badArgs', `${key} is missing`)
  if (typeof value !== 'string') throw new Failure('badArgs', `${key} must be a string`)
  const address = value.trim().toLowerCase()
  const parts = address.split('@')
  const isAddress = parts.length === 2 && parts.every((part) => part !== '') && !REFUSED.test(address)
  if (!isAddress || isTooLong(address)) throw new Failure('badArgs', `${key} must be an e-mail address`)
  return address
}

/** `me` stands for the caller in every place of a path that names a person, and in no other. */
export function parsePerson(text: string): PersonId {
  return text.trim() === 'me' ? { alias: 'me' } : { email: normalAddress(text) }
}

// White space, control characters, half of a surrogate pair.
const REFUSED = /[\s\p{Cc}\p{Surrogate}]/u

function isTooLong(address: string): boolean {
  return address.length > ADDRESS_LENGTH_MAX && Array.from(address).length > ADDRESS_LENGTH_MAX
}
