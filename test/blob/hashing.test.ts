import { blake3 } from '@napi-rs/blake-hash'
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { BLOCK_BYTES, contentHasher, hashOf } from '../../src/blob/hashing.js'

function nameByDefinition(content: Buffer): string {
  const hashes: Buffer[] = []
  for (let at = 0; at < content.length; at += BLOCK_BYTES) {
    hashes.push(blake3(content.subarray(at, at + BLOCK_BYTES)))
  }
  return blake3(Buffer.concat(hashes)).toString('hex')
}

describe('the name of content', () => {
  it('is the hash of nothing when the content is empty', () => {
    const ofNothing = 'af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262'
    expect(hashOf(Buffer.alloc(0))).toBe(ofNothing)
    expect(contentHasher().digest()).toBe(ofNothing)
  })

  it.each([1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 2 * BLOCK_BYTES, 2 * BLOCK_BYTES + 5])(
    'is the hash of the hashes of its blocks, for %i bytes',
    (length) => {
      const content = randomBytes(length)
      expect(hashOf(content)).toBe(nameByDefinition(content))
    },
  )

  it('comes out the same when hashing continues after full blocks [UP-48]', () => {
    const content = randomBytes(2 * BLOCK_BYTES + 1000)
    const first = contentHasher()
    first.update(content.subarray(0, BLOCK_BYTES + 500))
    expect(first.blocks).toEqual([blake3(content.subarray(0, BLOCK_BYTES))])
    expect(first.length).toBe(BLOCK_BYTES + 500)

    const second = contentHasher({ blocks: first.blocks })
    expect(second.length).toBe(BLOCK_BYTES)
    second.update(content.subarray(BLOCK_BYTES))
    expect(second.digest()).toBe(hashOf(content))
    expect(second.blocks).toHaveLength(2)
  })
})
