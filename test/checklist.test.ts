/**
 * Ties the list of requirements to the tests: the title of a test ends with the ids it proves, each in brackets of its
 * own. A requirement that nothing cites must stand on the list of those that wait, with the reason.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const TESTS = fileURLToPath(new URL('.', import.meta.url))
const ID = /^[A-Z0-9]*[A-Z][A-Z0-9]*-\d+$/

const ids = lines('checklist-ids.txt')
const waiting = new Map(
  lines('checklist-waiting.txt').map((line) => {
    const [id = '', ...reason] = line.split(' ')
    return [id, reason.join(' ')] as const
  }),
)
const cited = new Set(
  readdirSync(TESTS, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .flatMap((entry) => citations(readFileSync(join(entry.parentPath, entry.name), 'utf8'))),
)

function lines(name: string): string[] {
  const text = readFileSync(join(TESTS, 'support', name), 'utf8')
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
}

/** Ids in brackets; a list in one pair of brackets counts, a range does not. */
function citations(text: string): string[] {
  return [...text.matchAll(/\[([A-Z0-9]*[A-Z][A-Z0-9]*-\d+(?:, ?[A-Z0-9]*[A-Z][A-Z0-9]*-\d+)*)\]/g)].flatMap(
    (match) => (match[1] ?? '').split(/, ?/),
  )
}

test('every requirement is cited by a test or waits for a reason', () => {
  expect(ids.filter((id) => !cited.has(id) && !waiting.has(id))).toEqual([])
})

test('no requirement waits that a test proves', () => {
  expect([...waiting.keys()].filter((id) => cited.has(id))).toEqual([])
})

test('the list of those that wait holds requirements only, each once and with a reason', () => {
  expect([...waiting].filter(([id, reason]) => !ids.includes(id) || reason === '')).toEqual([])
  expect(lines('checklist-waiting.txt')).toHaveLength(waiting.size)
})

test('the list of requirements is well formed', () => {
  expect(ids.length).toBeGreaterThan(800)
  expect(ids.filter((id) => !ID.test(id))).toEqual([])
  expect(new Set(ids).size).toBe(ids.length)
})
