import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { matchesTag, parseTagHeader, strongTag, weakTag } from '../../src/model/tags.js'

function matches(header: string | string[], ...current: string[]): boolean {
  const condition = parseTagHeader(header)
  return condition !== undefined && matchesTag(condition, current)
}

const opaque = fc.string({ unit: fc.constantFrom(...'0123456789abcdef-_.'), minLength: 1, maxLength: 20 })
const quoted = fc.constantFrom(strongTag, weakTag)
const form = fc.oneof(
  quoted,
  fc.constant((value: string) => value),
  fc.constant((value: string) => `W/${value}`),
)
const blanks = fc.constantFrom('', ' ', '  ', '\t')
const malformed = fc.constantFrom("'abc'", 'a b', "W/'x'", 'W/', 'abc"', 'w/"x"', '""x', '')
const withCommas = fc.constantFrom('"a,b"', 'W/",,"', '", "')

describe('strongTag and weakTag', () => {
  it('quote the opaque value [ETAG-1] [ETAG-2]', () => {
    expect(strongTag('x')).toBe('"x"')
    expect(weakTag('x')).toBe('W/"x"')
  })
})

describe('parseTagHeader', () => {
  it('takes an absent, empty or blank header for none [ETAG-13] [HTTP-86]', () => {
    for (const header of [undefined, '', ' ', '\t ', [], [''], ['', ' ']])
      expect(parseTagHeader(header)).toBeUndefined()
  })

  it('keeps a comma inside quotes [ETAG-10]', () => {
    expect(parseTagHeader('"a,b", W/",",c')).toEqual({ any: false, tags: ['a,b', ',', 'c'] })
  })

  it('keeps the condition where no element is well formed [ETAG-15]', () => {
    for (const header of ['"abc', "'abc'", 'abc"', '"abc"def', 'W/', 'w/"abc"', 'a b', ',', '""abc""']) {
      expect(parseTagHeader(header), header).toEqual({ any: false, tags: [] })
      expect(matches(header, 'abc')).toBe(false)
    }
  })

  it('takes up the list again after a malformed element [ETAG-15]', () => {
    for (const header of ['\'abc\', "x"', 'abc", "x"', '"x", "abc', '"abc, x', '"abc"d, W/"x"']) {
      expect(matches(header, 'x'), header).toBe(true)
      expect(matches(header, 'abc'), header).toBe(false)
    }
  })

  it('reads a long hostile header in linear time [ETAG-15]', () => {
    const started = performance.now()
    for (const piece of ['"', '",', 'W/"', ' ', ', ', '"a,', ' "']) parseTagHeader(piece.repeat(50_000))
    expect(performance.now() - started).toBeLessThan(2000)
  })
})

describe('matchesTag', () => {
  it('ignores the prefix and the lack of quotes [ETAG-8] [ETAG-14] [HTTP-85]', () => {
    for (const header of ['"x"', 'W/"x"', 'x', 'W/x', ' "x" ']) {
      expect(matches(header, 'x')).toBe(true)
      expect(matches(header, 'y')).toBe(false)
      expect(matches(header)).toBe(false)
    }
  })

  it('wants one match of a list [ETAG-10]', () => {
    for (const header of ['"other", W/"x"', '"other",W/"x"', ',"other",,"x",', '"x","other"']) {
      expect(matches(header, 'x')).toBe(true)
      expect(matches(header, 'y')).toBe(false)
    }
  })

  it('joins repeated lines [ETAG-11] [HTTP-84]', () => {
    expect(matches(['"other"', '"x"'], 'x')).toBe(true)
    expect(matches(['', 'x'], 'x')).toBe(true)
    expect(matches(['"other"', '"more"'], 'x')).toBe(false)
  })

  it('takes any of several current tags [ETAG-7]', () => {
    expect(matches('"content"', 'metadata', 'content')).toBe(true)
  })

  it('lets a star match whatever exists, in a list too [ETAG-12] [HTTP-84]', () => {
    for (const header of ['*', ' * ', '"other", *', ['"other"', '*']]) {
      expect(matches(header, 'x')).toBe(true)
      expect(matches(header)).toBe(false)
    }
    expect(matches('"*"', 'x')).toBe(false)
  })

  it('matches in any formatting of a list that holds the current tag [ETAG-8] [ETAG-10] [ETAG-11] [ETAG-14]', () => {
    const element = fc.oneof(
      fc.tuple(opaque, form).map(([value, format]) => format(value)),
      malformed,
      withCommas,
    )
    const padded = (text: fc.Arbitrary<string>) =>
      fc.tuple(blanks, text, blanks).map((parts) => parts.join(''))
    const some = fc.array(padded(element), { maxLength: 5 })
    fc.assert(
      fc.property(opaque, form, some, some, fc.boolean(), (current, format, before, after, onLines) => {
        const list = [...before, format(current), ...after]
        expect(matches(onLines ? list : list.join(','), 'unrelated+tag', current)).toBe(true)
      }),
      { numRuns: 1000 },
    )
  })

  it('never matches a list that lacks the current tag [ETAG-9] [ETAG-15]', () => {
    const others = fc.array(
      fc.oneof(
        fc.tuple(opaque, form).map(([value, format]) => format(value)),
        malformed,
        withCommas,
      ),
    )
    fc.assert(
      fc.property(others, (list) => {
        expect(matches(list.join(','), 'current+tag')).toBe(false)
      }),
    )
  })
})
