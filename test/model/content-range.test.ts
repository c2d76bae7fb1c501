import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseContentRange } from '../../src/model/content-range.js'
import { refusal } from './refusal.js'

describe('parseContentRange', () => {
  it('gives nothing where there is no header [UP-1]', () => {
    expect(parseContentRange(undefined)).toBeUndefined()
    expect(parseContentRange([])).toBeUndefined()
  })

  it('reads the four forms [UP-13]', () => {
    expect(parseContentRange('bytes */*')).toEqual({ first: undefined, last: undefined, total: undefined })
    expect(parseContentRange('bytes */5')).toEqual({ first: undefined, last: undefined, total: 5 })
    expect(parseContentRange('bytes 0-4/*')).toEqual({ first: 0, last: 4, total: undefined })
    expect(parseContentRange(['bytes 0-4/5'])).toEqual({ first: 0, last: 4, total: 5 })
  })

  it('takes a range that is empty [UP-33]', () => {
    expect(parseContentRange('bytes 5-4/*')).toEqual({ first: 5, last: 4, total: undefined })
    expect(parseContentRange('bytes 5-4/5')).toEqual({ first: 5, last: 4, total: 5 })
  })

  it('refuses every other form [UP-34]', () => {
    const malformed = [
      ...['*/*', 'bytes garbage/more', 'bytes 0-/*', 'bytes -5/10', 'bytes 0-4', 'bytes 0-4/', 'bytes=0-4/5'],
      ...[
        'bytes /*/',
        'items 0-4/5',
        '',
        ' ',
        'bytes',
        'bytes 0-4/5/6',
        'bytes 0 - 4/5',
        'bytes 0-4 /5',
        'bytes*/*',
      ],
      ...[
        'bytes 0x0-4/5',
        'bytes +0-4/5',
        'bytes 0-4/-1',
        'bytes 0-4/5, bytes 5-9/10',
        'bytes 0-1e1/*',
        'xbytes 0-4/5',
      ],
    ]
    for (const text of malformed)
      expect(
        refusal(() => parseContentRange(text)),
        text,
      ).toContain('Content-Range')
  })

  it('refuses two header lines, equal ones too [UP-34]', () => {
    expect(refusal(() => parseContentRange(['bytes 0-4/5', 'bytes 0-4/5']))).toContain('once')
  })

  it('refuses numbers too large [UP-35]', () => {
    for (const number of [
      '9007199254740992',
      '9223372036854775808',
      '99999999999999999999',
      '9'.repeat(500),
    ]) {
      for (const text of [
        `bytes 0-4/${number}`,
        `bytes */${number}`,
        `bytes 0-${number}/*`,
        `bytes ${number}-${number}/*`,
      ]) {
        expect(refusal(() => parseContentRange(text))).toContain('Content-Range')
      }
    }
  })

  it('refuses a range that begins after its end [UP-36]', () => {
    for (const text of ['bytes 6-4/*', 'bytes 6-4/10'])
      expect(refusal(() => parseContentRange(text))).toContain('begins after')
  })

  it('refuses a range that ends after the total [UP-37]', () => {
    for (const text of ['bytes 0-10/10', 'bytes 5-5/5', 'bytes 0-0/0']) {
      expect(refusal(() => parseContentRange(text))).toContain('ends after')
    }
  })

  it('accepts exactly the ranges that make sense, number for number [UP-36] [UP-37]', () => {
    const small = fc.bigInt({ min: 0n, max: 20n })
    const near = fc.bigInt({ min: 2n ** 53n - 4n, max: 2n ** 53n + 3n })
    const number = fc.oneof({ weight: 4, arbitrary: small }, near)
    fc.assert(
      fc.property(number, number, fc.option(number), (first, last, total) => {
        const text = `bytes ${first}-${last}/${total ?? '*'}`
        const exact = [first, last, total ?? 0n].every((value) => value < 2n ** 53n)
        if (exact && first <= last + 1n && (total === null || last < total)) {
          const expected = {
            first: Number(first),
            last: Number(last),
            total: total === null ? undefined : Number(total),
          }
          expect(parseContentRange(text)).toEqual(expected)
        } else {
          refusal(() => parseContentRange(text))
        }
      }),
      { numRuns: 1000 },
    )
  })
})
