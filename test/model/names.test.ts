import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkName, compareNames, nameKey, numberedName } from '../../src/model/names.js'
import { refusal } from './refusal.js'

/** The rules, one code point at a time. */
function isValid(name: string): boolean {
  const points = Array.from(name, (character) => character.codePointAt(0) ?? 0)
  if (points.length < 1 || points.length > 255) return false
  if (Buffer.byteLength(name) > 1020) return false
  if (name === '.' || name === '..') return false
  return points.every(
    (point) =>
      point > 0x1f &&
      !(point >= 0x7f && point <= 0x9f) &&
      point !== 0x2f &&
      !(point >= 0xd800 && point <= 0xdfff),
  )
}

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.string({
    unit: fc.constantFrom('a', '.', ' ', '/', '\u0007', '\u0085', '\ud83d', '\ude00', '😀', 'e\u0301'),
    maxLength: 300,
  }),
  fc.string({ unit: fc.constantFrom('😀', 'b'), minLength: 250, maxLength: 260 }),
)
const validName = fc
  .oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 255 }),
    fc.string({ unit: fc.constantFrom('a', '.', ' ', 'é', '한', '😀'), minLength: 1, maxLength: 255 }),
    fc.string({ unit: fc.constantFrom('😀', '.'), minLength: 240, maxLength: 255 }),
  )
  .filter(isValid)

describe('checkName', () => {
  it('takes 1 to 255 characters, counted in code points [NAME-1]', () => {
    for (const name of ['a', 'a'.repeat(255), '😀'.repeat(255)]) expect(checkName(name)).toBe(name)
  })

  it('refuses 256 characters [NAME-2]', () => {
    for (const name of ['a'.repeat(256), '😀'.repeat(256), 'a'.repeat(1_000_000)]) {
      expect(refusal(() => checkName(name))).toMatch(/^name must not be longer than 255/)
    }
  })

  it('refuses the empty name [NAME-3]', () => {
    expect(refusal(() => checkName(''))).toBe('name must not be empty')
  })

  it('refuses a slash at any place [NAME-4]', () => {
    for (const name of ['/', '/a', 'a/', 'a/b']) expect(refusal(() => checkName(name))).toContain('"/"')
  })

  it('refuses every control character and no neighbour of one [NAME-5]', () => {
    for (let code = 0; code <= 0xff; code += 1) {
      const name = `a${String.fromCharCode(code)}b`
      if (code <= 0x1f || (code >= 0x7f && code <= 0x9f)) {
        expect(refusal(() => checkName(name))).toContain('control character')
      } else if (code !== 0x2f) {
        expect(checkName(name)).toBe(name)
      }
    }
  })

  it('refuses one dot and two, and takes other names with dots [NAME-6]', () => {
    for (const name of ['.', '..']) refusal(() => checkName(name))
    for (const name of ['...', '.hidden', 'a.']) expect(checkName(name)).toBe(name)
  })

  it('refuses an unpaired surrogate [NAME-7]', () => {
    for (const name of ['\ud800', 'a\udc00', '\udc00\ud800', '\ud83d😀']) {
      expect(refusal(() => checkName(name))).toContain('surrogate')
    }
  })

  it('refuses what is no string [NAME-9]', () => {
    for (const name of [1, true, ['a'], { name: 'a' }])
      expect(refusal(() => checkName(name))).toBe('name must be a string')
  })

  it('refuses what is missing [NAME-10]', () => {
    for (const name of [undefined, null]) expect(refusal(() => checkName(name))).toBe('name is missing')
  })

  it('names the key it was given [NAME-9]', () => {
    expect(refusal(() => checkName('', 'first_name'))).toMatch(/^first_name /)
  })

  it('gives unusual names back as sent [NAME-11]', () => {
    const names = [
      '한글',
      '😀',
      'e\u0301',
      ' a ',
      'a\\b',
      '"',
      '100%',
      'a?b#c',
      'C:',
      'CON',
      'root',
      '\u2028',
      '\ufeff',
    ]
    for (const name of names) expect(checkName(name)).toBe(name)
  })

  it('accepts exactly the names the rules allow, unchanged [NAME-1] [NAME-4] [NAME-5] [NAME-7]', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, validName), (name) => {
        if (isValid(name)) expect(checkName(name)).toBe(name)
        else refusal(() => checkName(name))
      }),
      { numRuns: 1000 },
    )
  })
})

describe('nameKey', () => {
  it('tells letter cases apart [NAME-12]', () => {
    expect(nameKey('a')).not.toBe(nameKey('A'))
  })

  it('is the same for the composed and the decomposed form [NAME-13]', () => {
    expect(nameKey('e\u0301')).toBe(nameKey('é'))
    fc.assert(
      fc.property(validName, (name) => {
        expect(nameKey(name.normalize('NFD'))).toBe(nameKey(name))
        expect(nameKey(nameKey(name))).toBe(nameKey(name))
      }),
    )
  })
})

describe('numberedName', () => {
  it('counts before the extension [NAME-19]', () => {
    const cases: [string, string][] = [
      ['photo.d', 'photo (2).d'],
      ['X', 'X (2)'],
      ['.hidden', '.hidden (2)'],
      ['.hidden.txt', '.hidden (2).txt'],
      ['a.tar.gz', 'a.tar (2).gz'],
      ['a.', 'a. (2)'],
      ['...', '... (2)'],
      ['..a', '..a (2)'],
      ['St. Gallen', 'St. Gallen (2)'],
      ['한글.문서', '한글 (2).문서'],
    ]
    for (const [name, numbered] of cases) expect(numberedName(name, 2)).toBe(numbered)
  })

  it('cuts the stem where there is no room, between characters [NAME-1]', () => {
    expect(numberedName('a'.repeat(255), 10)).toBe(`${'a'.repeat(250)} (10)`)
    expect(numberedName(`${'😀'.repeat(251)}.txt`, 2)).toBe(`${'😀'.repeat(247)} (2).txt`)
    expect(numberedName(`a.${'b'.repeat(253)}`, 2)).toBe(`a.${'b'.repeat(249)} (2)`)
  })

  it('makes a valid name of every valid name, another one for each number [NAME-1]', () => {
    const count = fc.integer({ min: 2, max: Number.MAX_SAFE_INTEGER })
    fc.assert(
      fc.property(validName, count, count, (name, n, other) => {
        const numbered = numberedName(name, n)
        expect(checkName(numbered)).toBe(numbered)
        expect(numbered).toContain(` (${n})`)
        expect(nameKey(numbered) === nameKey(numberedName(name, other))).toBe(n === other)
      }),
      { numRuns: 500 },
    )
  })
})

describe('compareNames', () => {
  it('orders by UTF-16 code unit, as sorting without a comparison does [NAME-12]', () => {
    expect(['b', 'a', '\uff5e', 'B', '😀', 'ab'].sort(compareNames)).toEqual([
      'B',
      'a',
      'ab',
      'b',
      '😀',
      '\uff5e',
    ])
    fc.assert(
      fc.property(fc.array(validName, { maxLength: 20 }), (names) => {
        expect(names.toSorted(compareNames)).toEqual(names.toSorted())
      }),
    )
  })
})
