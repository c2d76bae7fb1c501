import { randomBytes } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const PIECE_BYTES = 8 * 1024 * 1024

/** A file of noise, written once. */
export function makePayload(path, bytes) {
  const descriptor = openSync(path, 'w')
  const noise = randomBytes(PIECE_BYTES)
  for (let position = 0, count = 0; position < bytes; position += PIECE_BYTES, count++) {
    noise.writeUInt32LE(count, 0)
    writeSync(descriptor, noise, 0, Math.min(PIECE_BYTES, bytes - position))
  }
  closeSync(descriptor)
  return path
}

/** Gives the payload a new identity, so that no server can know its content from the round before. */
export function refreshPayload(path) {
  const descriptor = openSync(path, 'r+')
  writeSync(descriptor, randomBytes(64), 0, 64, 0)
  closeSync(descriptor)
}

/** The same amount of noise in files of one chunk each, which is how curl sends a part of a file. */
export function makeChunks(folder, bytes, chunkBytes) {
  const chunks = []
  for (let first = 0; first < bytes; first += chunkBytes) {
    const length = Math.min(chunkBytes, bytes - first)
    const file = makePayload(join(folder, `chunk-${chunks.length}`), length)
    refreshPayload(file)
    chunks.push({ file, first, last: first + length - 1 })
  }
  return chunks
}
