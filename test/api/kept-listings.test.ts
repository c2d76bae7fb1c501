import { describe, expect, it } from 'vitest'
import { keptListings } from '../../src/api/kept-listings.js'

const big = (letter: string): Buffer => Buffer.alloc(10_000, letter)

describe('lists of children that are kept', () => {
  it('are given back for the state they were made of, and for no other', () => {
    const kept = keptListings(100_000)
    kept.keep('a', '1', big('a'))
    expect(kept.get('a', '1')).toEqual(big('a'))
    expect(kept.get('b', '1')).toBeUndefined()
    expect(kept.get('a', '2')).toBeUndefined()
    expect(kept.get('a', '1'), 'an old one is dropped').toBeUndefined()
  })

  it('take no more memory than they may: the one not used for longest goes first', () => {
    const kept = keptListings(30_000)
    for (const key of ['a', 'b', 'c']) kept.keep(key, '1', big(key))
    expect(kept.get('a', '1')).toEqual(big('a'))
    kept.keep('d', '1', big('d'))
    expect(kept.get('b', '1')).toBeUndefined()
    for (const key of ['a', 'c', 'd']) expect(kept.get(key, '1')).toEqual(big(key))
    kept.keep('huge', '1', Buffer.alloc(30_001))
    expect(kept.get('huge', '1')).toBeUndefined()
    expect(kept.get('a', '1'), 'one that is too large drives nobody out').toEqual(big('a'))
  })

  it('are replaced by a newer one of the same folder', () => {
    const kept = keptListings(25_000)
    for (let state = 1; state <= 10; state += 1) kept.keep('a', String(state), big('a'))
    kept.keep('b', '1', big('b'))
    expect(kept.get('a', '10')).toEqual(big('a'))
    expect(kept.get('b', '1')).toEqual(big('b'))
  })

  it('are not kept when they are small', () => {
    const kept = keptListings(25_000)
    kept.keep('a', '1', Buffer.alloc(100))
    expect(kept.get('a', '1')).toBeUndefined()
  })
})
