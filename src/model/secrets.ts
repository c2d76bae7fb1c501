import * as crypto from 'node:crypto'
import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import { isHex } from './ids.js'

/** Unguessable lower-case hex, two digits a byte. */
export function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex')
}

/** Cheaper, and only there since Node 20.12. */
const oneShot: typeof crypto.hash | undefined = crypto.hash

/**
 * The form in which a secret is stored and looked up. It is for secrets made by randomHex, which are
 * too long to be guessed; a password that a person chose needs a slow hash.
 */
export function hashSecret(text: string): string {
  return oneShot === undefined ? digest(text).toString('hex') : oneShot('sha256', text, 'hex')
}

const TOKEN_HEX_DIGITS = 64

/** What an access token looks like; anything else is none and is not even looked up. */
export function isToken(text: string): boolean {
  return isHex(text, TOKEN_HEX_DIGITS)
}

/** Takes the same time wherever the two differ; hashing first makes their lengths equal. */
export function sameSecret(a: string, b: string): boolean {
  return timingSafeEqual(digest(a), digest(b))
}

export function newUuid(): string {
  return randomUUID()
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** What newUuid makes; anything else names no application and is not even looked up. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest()
}
