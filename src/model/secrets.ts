import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'

/** Unguessable lower-case hex, two digits a byte. */
export function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex')
}

/**
 * The form in which a secret is stored and looked up. It is for secrets made by randomHex, which are
 * too long to be guessed; a password that a person chose needs a slow hash.
 */
export function hashSecret(text: string): string {
  return digest(text).toString('hex')
}

/** Takes the same time wherever the two differ; hashing first makes their lengths equal. */
export function sameSecret(a: string, b: string): boolean {
  return timingSafeEqual(digest(a), digest(b))
}

export function newUuid(): string {
  return randomUUID()
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest()
}
