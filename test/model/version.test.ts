import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  at,
  compareVersions,
  parseVersion,
  V1_0,
  V1_1,
  V1_2,
  V1_3,
  V1_4,
  versionText,
  within,
} from '../../src/model/version.js'

const number = fc.nat({ max: 2000 })
const version = fc.record({ major: number, minor: number })

describe('parseVersion', () => {
  it('reads the constants back from their text [VER-2]', () => {
    for (const known of [V1_0, V1_1, V1_2, V1_3, V1_4])
      expect(parseVersion(`v${versionText(known)}`)).toEqual(known)
  })

  it('reads every pair of numbers [VER-2]', () => {
    fc.assert(
      fc.property(version, (any) => {
        expect(parseVersion(`v${any.major}.${any.minor}`)).toEqual(any)
      }),
    )
  })

  it('refuses other forms [VER-3]', () => {
    const malformed = [
      'v1',
      '1.3',
      'vfoo',
      'v1.',
      'v.3',
      'v1.3.0',
      'v-1.3',
      'V1.3',
      'v01.3',
      'v1.03',
      'v1.3 ',
      'v1.3\n',
      'v1,3',
      'v',
      '',
      'v1.٣',
    ]
    for (const text of malformed) expect(parseVersion(text), text).toBeUndefined()
  })
})

describe('compareVersions', () => {
  it('compares as numbers, not as text [VER-2]', () => {
    const v1_10 = parseVersion('v1.10') ?? V1_0
    expect(compareVersions(v1_10, V1_3)).toBeGreaterThan(0)
    expect(compareVersions(v1_10, V1_1)).not.toBe(0)
    expect(compareVersions(parseVersion('v10.3') ?? V1_0, parseVersion('v2.0') ?? V1_0)).toBeGreaterThan(0)
  })

  it('orders by major, then by minor, as one number would [VER-2]', () => {
    fc.assert(
      fc.property(version, version, (a, b) => {
        const asNumber = (one: typeof a) => one.major * 10_000 + one.minor
        expect(Math.sign(compareVersions(a, b))).toBe(Math.sign(asNumber(a) - asNumber(b)))
      }),
    )
  })
})

describe('within', () => {
  it('includes both ends [VER-10]', () => {
    expect([V1_0, V1_1, V1_2, V1_3, V1_4].map((one) => within(one, V1_1, V1_3))).toEqual([
      false,
      true,
      true,
      true,
      false,
    ])
  })

  it('has no end unless told', () => {
    expect(within(V1_4, V1_3)).toBe(true)
    expect(within(V1_2, V1_3)).toBe(false)
  })
})

describe('at', () => {
  it('takes the newest row that is not newer, in any order of rows [VER-19]', () => {
    const rows = [[V1_0, 200] as const, [V1_3, 204] as const]
    for (const table of [rows, rows.toReversed()]) {
      expect([V1_0, V1_2, V1_3, V1_4].map((one) => at(one, table))).toEqual([200, 200, 204, 204])
    }
  })

  it('takes a table without a row for the version for a bug', () => {
    expect(() => at(V1_0, [[V1_3, 1]])).toThrow('1.0')
  })
})
