import { blake } from './blake.js'
import { BLOCK_BYTES } from './hashing.js'
import type { BlobReader } from './store.js'

const HASH_BYTES = 32
/** Blocks are verified in pieces of this size, so that a reader holds little memory. */
const PIECE_BYTES = 256 * 1024

/**
 * Reads a local file and hands out no byte of a block before the block is verified. When one is wrong or cannot be read,
 * `fallBack` opens another copy of the same content, and the reader goes on with that.
 */
export function verifiedReader(
  local: BlobReader,
  content: { hash: string; size: number; blocks: Buffer },
  fallBack: (reason: unknown) => Promise<BlobReader>,
): BlobReader {
  const { size } = content
  const verified = new Set<number>()
  let piece: Buffer | undefined
  let other: Promise<BlobReader> | undefined
  let isClosed = false

  async function verify(block: number): Promise<void> {
    if (verified.has(block)) return
    const start = block * BLOCK_BYTES
    const end = Math.min(start + BLOCK_BYTES, size)
    piece ??= Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, size))
    const hasher = new (blake().Blake3Hasher)()
    for (let at = start; at < end;) {
      const count = await local.read(piece, at, Math.min(piece.length, end - at))
      if (count === 0) throw new WrongBytes()
      hasher.update(piece.subarray(0, count))
      at += count
    }
    if (!isRight(content, block, hasher.digestBuffer())) throw new WrongBytes()
    verified.add(block)
  }

  async function readVerified(buffer: Buffer, position: number, length: number): Promise<number> {
    const end = Math.min(position + length, size)
    for (let block = Math.floor(position / BLOCK_BYTES); block * BLOCK_BYTES < end; block += 1) {
      await verify(block)
    }
    const wanted = Math.max(0, end - position)
    const count = await local.read(buffer, position, wanted)
    if (count < wanted) throw new WrongBytes()
    return count
  }

  async function open(reason: unknown): Promise<BlobReader> {
    const reader = await fallBack(reason)
    if (isClosed) await reader.close()
    return reader
  }

  return {
    size,
    async read(buffer, position, length) {
      if (other === undefined) {
        try {
          return await readVerified(buffer, position, length)
        } catch (error) {
          if (isClosed) throw error
          other ??= open(error)
        }
      }
      return (await other).read(buffer, position, length)
    },
    async close() {
      isClosed = true
      await local.close()
      const opened = await other?.catch(() => undefined)
      await opened?.close()
    },
  }
}

class WrongBytes extends Error {
  constructor() {
    super('the bytes of a local copy are not those of its content')
    this.name = 'WrongBytes'
  }
}

/** A full block has its hash in the list. The last one that is not full makes, with the list, the name of the whole. */
function isRight(
  { hash, size, blocks }: { hash: string; size: number; blocks: Buffer },
  block: number,
  digest: Buffer,
): boolean {
  const fullBlocks = Math.floor(size / BLOCK_BYTES)
  if (blocks.length !== fullBlocks * HASH_BYTES) return false
  if (block === fullBlocks)
    return (
      blake()
        .blake3(Buffer.concat([blocks, digest]))
        .toString('hex') === hash
    )
  const listed = blocks.subarray(block * HASH_BYTES, (block + 1) * HASH_BYTES)
  return listed.equals(digest) && (size % BLOCK_BYTES > 0 || blake().blake3(blocks).toString('hex') === hash)
}
