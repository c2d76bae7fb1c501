import { contentHasher } from './hashing.js'
import { BlobCorrupt, type BlobReader } from './store.js'

const READ_BYTES = 1024 * 1024

/** Reads the whole blob, with one buffer whatever its size, and says whether it is what its row claims. */
export async function verifyBlob(
  reader: BlobReader,
  hash: string,
  size: number,
): Promise<'ok' | 'wrong length' | 'wrong hash'> {
  if (reader.size !== size) return 'wrong length'
  try {
    return await compare(reader, hash, size)
  } catch (error) {
    if (error instanceof BlobCorrupt) return 'wrong hash'
    throw error
  }
}

async function compare(
  reader: BlobReader,
  hash: string,
  size: number,
): Promise<'ok' | 'wrong length' | 'wrong hash'> {
  const hasher = contentHasher()
  const buffer = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, Math.max(size, 1)))
  while (hasher.length < size) {
    const count = await reader.read(buffer, hasher.length, Math.min(buffer.length, size - hasher.length))
    if (count === 0) return 'wrong length'
    hasher.update(buffer.subarray(0, count))
  }
  return hasher.digest() === hash ? 'ok' : 'wrong hash'
}
