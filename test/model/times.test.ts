import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { httpDate, minuteTime } from '../../src/model/times.js'

const ms = fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) })

describe('minuteTime', () => {
  it('cuts seconds off and does not round', () => {
    expect(minuteTime(Date.UTC(2024, 1, 29, 23, 59, 59, 999))).toBe('2024-02-29T23:59Z')
    expect(minuteTime(0)).toBe('1970-01-01T00:00Z')
  })

  it('agrees with the ISO form of every time', () => {
    fc.assert(
      fc.property(ms, (time) => {
        expect(minuteTime(time)).toBe(`${new Date(time).toISOString().slice(0, 16)}Z`)
      }),
    )
  })
})

describe('httpDate', () => {
  it('has the fixed form of HTTP', () => {
    expect(httpDate(784_111_777_000)).toBe('Sun, 06 Nov 1994 08:49:37 GMT')
    fc.assert(
      fc.property(ms, (time) => {
        expect(httpDate(time)).toMatch(/^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/)
        expect(Date.parse(httpDate(time))).toBe(Math.floor(time / 1000) * 1000)
      }),
    )
  })
})
