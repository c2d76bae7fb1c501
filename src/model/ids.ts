/** The object id of a store's own root folder. */
export const ZERO_OID = '0'.repeat(32)

/** What an identifier in a path or a body says, before anything is looked up. */
export type ParsedId = { alias: 'root' } | { alias: 'appdata' } | { sid: string; oid: string }

const STORE_ID = /^[0-9a-f]{32}$/
const OBJECT_ID = /^[0-9a-f]{64}$/
const LOWER_HEX = /^[0-9a-f]*$/

/** Gives undefined for malformed text. A bare store id means the root folder of that store. */
export function parseId(text: string): ParsedId | undefined {
  if (text.length === 64) {
    return OBJECT_ID.test(text) ? { sid: text.slice(0, 32), oid: text.slice(32) } : undefined
  }
  if (text.length === 32) return STORE_ID.test(text) ? { sid: text, oid: ZERO_OID } : undefined
  if (text === 'root') return { alias: 'root' }
  if (text === 'appdata') return { alias: 'appdata' }
  return undefined
}

export function formatId(sid: string, oid: string): string {
  return sid + oid
}

/** True for exactly this many lower-case hex digits. */
export function isHex(text: string, digits: number): boolean {
  return text.length === digits && LOWER_HEX.test(text)
}
