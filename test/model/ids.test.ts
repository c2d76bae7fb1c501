import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatId, isHex, parseId, ZERO_OID } from '../../src/model/ids.js'

const hexDigit = fc.constantFrom(...'0123456789abcdef')
const half = fc.string({ unit: hexDigit, minLength: 32, maxLength: 32 })

describe('parseId', () => {
  it('knows the two aliases, in lower case alone [ID-12]', () => {
    expect(parseId('root')).toEqual({ alias: 'root' })
    expect(parseId('appdata')).toEqual({ alias: 'appdata' })
    for (const text of ['ROOT', 'Root', 'Appdata', ' root', 'root ', ''])
      expect(parseId(text)).toBeUndefined()
  })

  it('gives back what formatId put together [ID-1]', () => {
    fc.assert(
      fc.property(half, half, (sid, oid) => {
        expect(parseId(formatId(sid, oid))).toEqual({ sid, oid })
      }),
    )
  })

  it('takes a bare store id for the root of that store [ID-6]', () => {
    fc.assert(
      fc.property(half, (sid) => {
        expect(parseId(sid)).toEqual(parseId(sid + ZERO_OID))
      }),
    )
  })

  it('refuses other lengths, other digits and upper case [ID-12]', () => {
    const valid = 'a0'.repeat(32)
    const malformed = [
      'bla',
      'olga@example.com',
      valid.toUpperCase(),
      `${valid.slice(1)}g`,
      `g${valid.slice(1)}`,
    ]
    for (const length of [1, 31, 33, 63, 65, 96, 128]) malformed.push('a'.repeat(length))
    for (const text of malformed) expect(parseId(text), text).toBeUndefined()
  })

  it('does not cut off what follows a valid id [ID-13]', () => {
    const valid = 'a0'.repeat(32)
    for (const tail of ['x', '\n', ' ', '/', '\0', '0', '.txt']) {
      expect(parseId(valid + tail)).toBeUndefined()
      expect(parseId(valid.slice(32) + tail)).toBeUndefined()
    }
    expect(parseId(`${valid.slice(1)}\n`)).toBeUndefined()
  })

  it('accepts exactly the aliases and 32 or 64 lower-case hex digits [ID-12]', () => {
    const nearlyHex = fc.string({
      unit: fc.oneof({ weight: 60, arbitrary: hexDigit }, fc.constantFrom('A', 'g', '\n')),
      maxLength: 70,
    })
    fc.assert(
      fc.property(fc.oneof(fc.string(), nearlyHex, half), (text) => {
        const wellFormed = text === 'root' || text === 'appdata' || /^(?:[0-9a-f]{32}){1,2}(?!\n)$/.test(text)
        expect(parseId(text) !== undefined).toBe(wellFormed)
      }),
    )
  })
})

describe('isHex', () => {
  it('wants the exact number of lower-case digits [ID-12]', () => {
    expect(isHex('0a', 2)).toBe(true)
    expect(isHex('', 0)).toBe(true)
    for (const text of ['0', '0a0', '0A', '0g', '0\n']) expect(isHex(text, 2)).toBe(false)
  })
})
