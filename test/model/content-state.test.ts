import { describe, expect, it } from 'vitest'
import { contentState } from '../../src/model/content-state.js'

describe('contentState', () => {
  it('follows the precedence of the facts [STATE-13]', () => {
    for (const spent of [false, true]) {
      for (const isHere of [false, true]) {
        expect(contentState({ deselected: true, isHere, spent })).toBe('DESELECTED')
      }
      expect(contentState({ deselected: false, isHere: true, spent })).toBe('AVAILABLE')
    }
    expect(contentState({ deselected: false, isHere: false, spent: true })).toBe('INSUFFICIENT_STORAGE')
    expect(contentState({ deselected: false, isHere: false, spent: false })).toBe('SYNCING')
  })
})
