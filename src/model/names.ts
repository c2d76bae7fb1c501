import { Failure } from './failures.js'

/** In code points. The limit of 1020 UTF-8 bytes follows from it: no code point takes more than four. */
export const NAME_LENGTH_MAX = 255

/** A longer tail after the last dot is a part of the name rather than an extension. */
const EXTENSION_LENGTH_MAX = 32

// The three things a name may not hold: a slash, a control character, half of a surrogate pair.
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f/\p{Surrogate}]/u
const EXTENSION = /\.[^.\s]+$/u
const DOTS_ONLY = /^\.*$/

/** Gives the name back unchanged, or refuses it in words that begin with the key it came under. */
export function checkName(name: unknown, key = 'name'): string {
  if (name === undefined || name === null) throw new Failure('badArgs', `${key} is missing`)
  if (typeof name !== 'string') throw new Failure('badArgs', `${key} must be a string`)
  if (name === '') throw new Failure('badArgs', `${key} must not be empty`)
  if (isTooLong(name)) {
    throw new Failure('badArgs', `${key} must not be longer than ${NAME_LENGTH_MAX} characters`)
  }
  if (name === '.' || name === '..') throw new Failure('badArgs', `${key} must not be "." or ".."`)
  const forbidden = FORBIDDEN.exec(name)
  if (forbidden !== null) throw new Failure('badArgs', `${key} must not contain ${describe(forbidden[0])}`)
  return name
}

/** Two names are the same when their keys are equal. */
export function nameKey(name: string): string {
  return name.normalize('NFC')
}

/** Puts ` (n)` before the extension. A valid name gives a valid name: the stem is cut where there is no room. */
export function numberedName(name: string, n: number): string {
  const extension = extensionOf(name)
  const stem = Array.from(name.slice(0, name.length - extension.length))
  const suffix = ` (${n})${extension}`
  const room = NAME_LENGTH_MAX - Array.from(suffix).length
  return stem.slice(0, room).join('') + suffix
}

/** The order of listings: by UTF-16 code unit, which is how JavaScript compares strings. */
export function compareNames(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

function isTooLong(name: string): boolean {
  if (name.length <= NAME_LENGTH_MAX) return false
  // A code point takes at most two code units, so a huge string is refused without being walked.
  if (name.length > 2 * NAME_LENGTH_MAX) return true
  return Array.from(name).length > NAME_LENGTH_MAX
}

function describe(character: string): string {
  if (character === '/') return '"/"'
  const code = character.charCodeAt(0)
  return code >= 0xd800 ? 'an unpaired surrogate' : 'a control character'
}

/** With its dot, or empty. The leading dots of a hidden file begin no extension. */
function extensionOf(name: string): string {
  const extension = EXTENSION.exec(name)?.[0] ?? ''
  if (Array.from(extension).length > EXTENSION_LENGTH_MAX) return ''
  return DOTS_ONLY.test(name.slice(0, name.length - extension.length)) ? '' : extension
}

/** The name of every user's root folder. */
export const ROOT_NAME = 'Starling'

/** The folder that holds the folders of applications, directly in a user's root; its name is nobody's to take. */
export const APPDATA_NAME = '.appdata'
