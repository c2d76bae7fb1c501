/** Moves between roots and shares that meet: whatever their order, every byte stays and what is used adds up. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { useServer } from '../content/support.js'
import { listing, type Item } from '../tree/support.js'
import { addMember, expectSound, newShare, ok, someone, type Someone } from './support.js'

const RUNS = Number(process.env['STARLING_TEST_RUNS'] ?? 2)
const PEOPLE = 3
const SHARES = 2
const FILES = 12

interface Move {
  readonly by: number
  readonly what: number
  readonly to: number
}

const move = fc.record({
  by: fc.nat({ max: PEOPLE - 1 }),
  what: fc.nat({ max: 1000 }),
  to: fc.nat({ max: 1000 }),
})
/** Moves of one batch are under way at the same moment. */
const batches = fc.array(fc.array(move, { minLength: 2, maxLength: 5 }), { minLength: 5, maxLength: 5 })

describe.each(ENGINES)('moves across shares on %s', (engine) => {
  const server = useServer(engine, { workers: 2 })

  interface Found {
    readonly item: Item
    readonly kind: 'folders' | 'files'
  }

  /** All that a person sees, from the root down. */
  async function walk(person: Someone, id = 'root', into: Found[] = []): Promise<Found[]> {
    const { folders, files } = await listing(person.api, id)
    for (const item of files) into.push({ item, kind: 'files' })
    for (const item of folders) {
      into.push({ item, kind: 'folders' })
      await walk(person, item.id, into)
    }
    return into
  }

  function digest(bytes: Buffer): string {
    return createHash('sha256').update(bytes).digest('hex')
  }

  async function carryOut(
    people: readonly Someone[],
    shares: readonly string[],
    batch: readonly Move[],
  ): Promise<void> {
    const views = await Promise.all(people.map((person) => walk(person)))
    const calls = batch.flatMap(({ by, what, to }) => {
      const [person, view] = [people[by], views[by]]
      if (person === undefined || view === undefined) return []
      const movable = view.filter(({ item }) => item['is_shared'] !== true)
      const places = [
        'root',
        ...shares,
        ...view.filter(({ kind }) => kind === 'folders').map(({ item }) => item.id),
      ]
      const found = movable[what % movable.length]
      const parent = places[to % places.length]
      if (found === undefined || parent === undefined) return []
      return [() => person.api.put(`/${found.kind}/${found.item.id}`, { parent })]
    })
    for (const answer of await Promise.all(calls.map((call) => call())))
      expect([200, 400, 404, 409], answer.text).toContain(answer.status)
  }

  test(
    'lose no byte for any member, and what each one uses is the sum of what each one sees [MOVE-21] [QUOTA-08]',
    { timeout: 300_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(batches, async (all) => {
          const people = await Promise.all(Array.from({ length: PEOPLE }, () => someone(server())))
          const [first] = people
          if (first === undefined) return
          const shares = await Promise.all(
            Array.from({ length: SHARES }, async (_, index) => {
              const share = await newShare(first.api, `Share ${index}`)
              for (const person of people.slice(1)) await addMember(first.api, share, person.email, ['WRITE'])
              return share
            }),
          )
          const stored = new Set<string>()
          for (let index = 0; index < FILES; index += 1) {
            const person = people[index % PEOPLE] ?? first
            const place = index % 2 === 0 ? 'root' : (shares[index % SHARES] ?? 'root')
            const folder = await person.api.folder(`folder ${index}`, place)
            const bytes = Buffer.alloc(1 + index * (index % 3 === 0 ? 20_000 : 10), `content ${index}`)
            stored.add(digest(bytes))
            const file = await person.api.file(`file ${index}`, index % 4 === 0 ? place : folder)
            ok(await person.api.upload(file, bytes), 204)
          }
          for (const batch of all) await carryOut(people, shares, batch)

          const seen = new Map<string, Set<string>>()
          for (const person of people) {
            let bytes = 0
            for (const { item, kind } of await walk(person)) {
              if (kind === 'folders') continue
              const content = ok(await person.api.get(`/files/${item.id}/content`), 200).body
              expect(content.length).toBe(item['size'])
              bytes += content.length
              const hash = digest(content)
              seen.set(hash, (seen.get(hash) ?? new Set()).add(item.id))
            }
            expect(ok(await person.api.get('/users/me/quota'), 200).json).toEqual({ bytes_used: bytes })
          }
          expect([...seen.keys()].sort()).toEqual([...stored].sort())
          for (const ids of seen.values()) expect(ids.size).toBe(1)
        }),
        { numRuns: RUNS, endOnFailure: true },
      )
      await expectSound(server())
    },
  )
})
