import { blake } from './blake.js'

/** Content is hashed in blocks of this size; the last block may be shorter. */
export const BLOCK_BYTES = 4 * 1024 * 1024

/**
 * Computes the name of content that arrives in pieces: the BLAKE3 of the concatenated BLAKE3 hashes of its blocks.
 * Empty content has no blocks, so its name is the BLAKE3 of nothing.
 */
export interface ContentHasher {
  update(chunk: Buffer): void
  /** Bytes of content so far, those of the blocks it started with included. */
  readonly length: number
  /** The hashes of the full blocks so far. */
  readonly blocks: readonly Buffer[]
  /** The name, in hex, of all content so far. */
  digest(): string
}

/** Continues after the given full blocks. The caller feeds the bytes of the partial block again with update(). */
export function contentHasher(start?: { blocks: readonly Buffer[] }): ContentHasher {
  return new BlockHasher(start?.blocks ?? [])
}

export function hashOf(content: Buffer): string {
  const hasher = contentHasher()
  hasher.update(content)
  return hasher.digest()
}

class BlockHasher implements ContentHasher {
  length: number
  readonly blocks: Buffer[]
  #partial = new (blake().Blake3Hasher)()
  #partialBytes = 0

  constructor(blocks: readonly Buffer[]) {
    this.blocks = [...blocks]
    this.length = blocks.length * BLOCK_BYTES
  }

  update(chunk: Buffer): void {
    let rest = chunk
    while (rest.length > 0) {
      const room = BLOCK_BYTES - this.#partialBytes
      const piece = rest.length > room ? rest.subarray(0, room) : rest
      this.#partial.update(piece)
      this.#partialBytes += piece.length
      this.length += piece.length
      if (this.#partialBytes === BLOCK_BYTES) this.#endBlock()
      rest = rest.subarray(piece.length)
    }
  }

  digest(): string {
    const partial = this.#partialBytes > 0 ? [this.#partial.digestBuffer()] : []
    return blake()
      .blake3(Buffer.concat([...this.blocks, ...partial]))
      .toString('hex')
  }

  #endBlock(): void {
    this.blocks.push(this.#partial.digestBuffer())
    this.#partial.reset()
    this.#partialBytes = 0
  }
}
