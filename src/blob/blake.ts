import { createRequire } from 'node:module'
import type * as Blake from '@napi-rs/blake-hash'

const require = createRequire(import.meta.url)

/** Loaded with the first content that is hashed: many a command touches none and is done in the time that this takes. */
export function blake(): typeof Blake {
  return require('@napi-rs/blake-hash') as typeof Blake
}
