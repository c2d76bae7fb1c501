import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hashSecret, newUuid, randomHex, sameSecret } from '../../src/model/secrets.js'

describe('randomHex', () => {
  it('has two lower-case digits a byte and does not repeat', () => {
    const made = Array.from({ length: 100 }, () => randomHex(32))
    for (const text of made) expect(text).toMatch(/^[0-9a-f]{64}$/)
    expect(new Set(made).size).toBe(100)
  })
})

describe('hashSecret', () => {
  it('is SHA-256 in hex', () => {
    expect(hashSecret('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  })
})

describe('sameSecret', () => {
  it('says whether two texts are equal, whatever their lengths', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (a, b) => {
        expect(sameSecret(a, a)).toBe(true)
        expect(sameSecret(a, b)).toBe(a === b)
      }),
    )
  })
})

describe('newUuid', () => {
  it('is a random UUID', () => {
    expect(newUuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(newUuid()).not.toBe(newUuid())
  })
})
