import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseRange, RANGES_MAX, type RangeRequest } from '../../src/model/ranges.js'

const HUGE = '99999999999999999999'

function ranges(...pairs: [number, number][]): RangeRequest {
  return { kind: 'ranges', ranges: pairs.map(([start, end]) => ({ start, end })) }
}

/** Decides for every single byte whether some element asks for it. */
function slowRanges(elements: readonly string[], size: number): RangeRequest {
  const wanted = new Array<boolean>(size).fill(false)
  for (const element of elements) {
    const [first = '', last = ''] = element.split('-')
    if (first === '' && last === '') return { kind: 'none' }
    if (first !== '' && last !== '' && BigInt(first) > BigInt(last)) return { kind: 'none' }
    for (let byte = 0; byte < size; byte += 1) {
      if (first === '') wanted[byte] ||= BigInt(size - byte) <= BigInt(last)
      else wanted[byte] ||= BigInt(first) <= BigInt(byte) && (last === '' || BigInt(byte) <= BigInt(last))
    }
  }
  const found: [number, number][] = []
  for (let byte = 0; byte < size; byte += 1) {
    const previous = found.at(-1)
    if (wanted[byte] !== true) continue
    if (previous !== undefined && previous[1] === byte - 1) previous[1] = byte
    else found.push([byte, byte])
  }
  if (found.length === 0) return { kind: 'unsatisfiable' }
  return found.length > RANGES_MAX ? { kind: 'none' } : ranges(...found)
}

describe('parseRange', () => {
  it('reads a single range [DOWN-20] [DOWN-21] [DOWN-24]', () => {
    const cases: [string, [number, number]][] = [
      ['0-1', [0, 1]],
      ['1-', [1, 4]],
      ['-2', [3, 4]],
      ['4-4', [4, 4]],
      ['0-4', [0, 4]],
      ['0-', [0, 4]],
      ['000-0001', [0, 1]],
    ]
    for (const [text, pair] of cases) expect(parseRange(`bytes=${text}`, 5), text).toEqual(ranges(pair))
  })

  it('clamps an end past the content [DOWN-22]', () => {
    for (const end of ['5', '100', '9007199254740993', HUGE, '9'.repeat(500)]) {
      expect(parseRange(`bytes=0-${end}`, 5)).toEqual(ranges([0, 4]))
    }
  })

  it('clamps a suffix longer than the content [DOWN-23]', () => {
    for (const suffix of ['5', '10', HUGE, '9'.repeat(500)]) {
      expect(parseRange(`bytes=-${suffix}`, 5)).toEqual(ranges([0, 4]))
    }
  })

  it('ignores an absent or invalid header [DOWN-25]', () => {
    const invalid = [
      ...[
        'bytes=1-0',
        'bytes=a-b',
        'bytes=-',
        'bytes=',
        'bytes=,',
        'bytes=0--1',
        'bytes 0-1',
        '0-1',
        'items=0-1',
      ],
      ...[
        'bytes=0-1;3-4',
        '',
        'bytes',
        'bytes=0 - 1',
        'bytes=0x1-2',
        'bytes=1e1-',
        'bytes=+1-2',
        'bytes=1',
        'bytes=٣-',
      ],
      ...[
        'bytes=0-1, bytes=3-4',
        `bytes=${HUGE}-99999999999999999998`,
        'bytes=9007199254740993-9007199254740992',
      ],
    ]
    for (const header of [undefined, ...invalid])
      expect(parseRange(header, 5), header).toEqual({ kind: 'none' })
  })

  it('ignores the whole header for one invalid range [DOWN-26]', () => {
    for (const list of ['2-1,0-0', '0-0,2-1', '0-0,x', '9-,x'])
      expect(parseRange(`bytes=${list}`, 5)).toEqual({ kind: 'none' })
  })

  it('takes blanks, empty elements and the unit in any case [DOWN-27]', () => {
    expect(parseRange('bytes=0-1, 3-4', 5)).toEqual(ranges([0, 1], [3, 4]))
    for (const header of ['bytes=0-1,', 'bytes=,0-1', 'bytes=, ,0-1 ,', 'Bytes=0-1', 'BYTES=0-1']) {
      expect(parseRange(header, 5)).toEqual(ranges([0, 1]))
    }
  })

  it('says when no range overlaps the content [DOWN-28]', () => {
    for (const list of ['5-', '5-6', '9-10,8-', `${HUGE}-`, `${HUGE}-${HUGE}`, '-0', '-00']) {
      expect(parseRange(`bytes=${list}`, 5), list).toEqual({ kind: 'unsatisfiable' })
    }
  })

  it('satisfies nothing on empty content [DOWN-29]', () => {
    for (const list of ['0-', '0-0', '-1', '-0', `-${HUGE}`])
      expect(parseRange(`bytes=${list}`, 0)).toEqual({ kind: 'unsatisfiable' })
    expect(parseRange('bytes=1-0', 0)).toEqual({ kind: 'none' })
  })

  it('leaves out what does not overlap [DOWN-30]', () => {
    expect(parseRange('bytes=0-1,9-10,-0', 5)).toEqual(ranges([0, 1]))
  })

  it('merges what overlaps or touches [DOWN-31]', () => {
    expect(parseRange('bytes=0-2,1-3', 5)).toEqual(ranges([0, 3]))
    expect(parseRange('bytes=0-2,3-', 5)).toEqual(ranges([0, 4]))
    expect(parseRange('bytes=0-4,1-2', 5)).toEqual(ranges([0, 4]))
  })

  it('keeps disjoint ranges apart, ascending in any order of asking [DOWN-32] [DOWN-34]', () => {
    for (const list of ['0-1,3-', '3-,0-1'])
      expect(parseRange(`bytes=${list}`, 5)).toEqual(ranges([0, 1], [3, 4]))
  })

  it('counts to 64 after merging [DOWN-35]', () => {
    const disjoint = (count: number) =>
      `bytes=${Array.from({ length: count }, (_, index) => `${index * 2}-${index * 2}`).join()}`
    const most = parseRange(disjoint(64), 1000)
    expect(most.kind === 'ranges' && most.ranges.length).toBe(64)
    expect(parseRange(disjoint(65), 1000)).toEqual({ kind: 'none' })
    const touching = Array.from({ length: 1000 }, (_, index) => `${index}-${index}`).join()
    expect(parseRange(`bytes=${touching}`, 1000)).toEqual(ranges([0, 999]))
  })

  it('agrees with a look at every single byte [DOWN-21] [DOWN-22] [DOWN-26] [DOWN-28] [DOWN-31] [DOWN-34]', () => {
    const number = fc.oneof(
      fc.nat({ max: 40 }).map(String),
      fc.nat({ max: 260 }).map(String),
      fc.constantFrom(HUGE, '007'),
    )
    const element = fc.oneof(
      {
        weight: 6,
        arbitrary: fc
          .tuple(number, fc.nat({ max: 5 }))
          .map(([first, more]) => `${first}-${BigInt(first) + BigInt(more)}`),
      },
      { weight: 1, arbitrary: fc.tuple(number, number).map(([first, last]) => `${first}-${last}`) },
      { weight: 1, arbitrary: number.map((first) => `${first}-`) },
      { weight: 1, arbitrary: number.map((last) => `-${last}`) },
    )
    const list = fc.array(element, { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(
        list,
        fc.nat({ max: 50 }),
        fc.constantFrom(',', ', ', ' ,', ',,'),
        (elements, size, comma) => {
          expect(parseRange(`bytes=${elements.join(comma)}`, size)).toEqual(slowRanges(elements, size))
        },
      ),
      { numRuns: 2000 },
    )
  })

  it('agrees with that look around the limit of 64 parts [DOWN-35]', () => {
    const bytes = fc.uniqueArray(fc.nat({ max: 299 }), { minLength: 60, maxLength: 120 })
    fc.assert(
      fc.property(bytes, (positions) => {
        const elements = positions.map((position) => `${position}-${position}`)
        expect(parseRange(`bytes=${elements.join()}`, 300)).toEqual(slowRanges(elements, 300))
      }),
    )
  })
})
