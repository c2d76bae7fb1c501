import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { fillFolders } from '../../support/fill.js'
import { startServer, type TestServer } from '../../support/server.js'
import { expectError } from '../support.js'
import { type Branch } from '../tree/support.js'
import { makePeople, makeShare } from './cast.js'
import { expectSound, ok } from './support.js'

const WIDTH = 4
const EACH = 500

const idsOf = ({ folders, files, below }: Branch): string[] => [
  ...[...folders, ...files].map(({ id }) => id),
  ...below.flatMap(idsOf),
]
const namesOf = ({ folders, files, below }: Branch): unknown => ({
  names: [...folders, ...files].map(({ name }) => name),
  below: below.map(namesOf),
})

describe.each(ENGINES)('a node killed during a move across stores on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  it('has all of it at the old place or all of it at the new one [MOVE-24]', async () => {
    const { O } = await makePeople(server, 'O')
    const { db } = server.installation
    const share = await makeShare(O, 'Plans')
    let top = await O.api.folder('top')
    const middles: string[] = []
    for (let index = 0; index < WIDTH; index += 1) middles.push(await O.api.folder(`m${index}`, top))
    await O.api.file('file', middles[0], 'hello')
    await fillFolders(db, middles, EACH)
    /** As deep as there is anything: a request for each of the leaves would take too long. */
    const branchOf = async (id: string, depth: number): Promise<Branch> => {
      const answer = ok(await O.api.get(`/folders/${id}/children`), 200)
      const children = answer.json as unknown as Branch
      const below: Branch[] = []
      if (depth > 0) for (const folder of children.folders) below.push(await branchOf(folder.id, depth - 1))
      return { folders: children.folders, files: children.files, below }
    }
    const whole = namesOf(await branchOf(top, 1))
    const objects = async (): Promise<number> =>
      Number((await db.read((tx) => tx.get<{ n: number }>('SELECT COUNT(*) AS n FROM objects')))?.n)
    const count = await objects()

    const placeOf = async (): Promise<string> => {
      const found: string[] = []
      for (const place of ['root', share]) {
        const { folders } = await branchOf(place, 0)
        found.push(...folders.filter(({ name }) => name === 'top').map(({ id }) => id))
      }
      expect(found).toHaveLength(1)
      return found[0] ?? ''
    }
    const target = (): string => (top.startsWith(share) ? 'root' : share)

    const start = Date.now()
    top = ok(await O.api.put(`/folders/${top}`, { parent: target() }), 200).json.id
    const duration = Date.now() - start
    const outcomes: string[] = []
    for (const part of [0.3, 0.6, 0.9]) {
      const before = await branchOf(top, 1)
      const moving = O.api.put(`/folders/${top}`, { parent: target() }).then(
        ({ status }) => status,
        () => 0,
      )
      await sleep(duration * part)
      await server.kill()
      const status = await moving
      await server.restart()
      const now = await placeOf()
      const after = await branchOf(now, 1)
      expect(namesOf(after)).toEqual(whole)
      expect(await objects()).toBe(count)
      if (status === 200) expect(now, 'an acknowledged move').not.toBe(top)
      if (now === top) expect(idsOf(after)).toEqual(idsOf(before))
      else {
        const kept = new Set(idsOf(before))
        expect(idsOf(after).filter((id) => kept.has(id))).toEqual([])
        for (const id of [top, ...idsOf(before).slice(0, 5), ...idsOf(before).slice(-5)]) {
          expectError(await O.api.get(`/folders/${id}/path`), 404)
        }
      }
      outcomes.push(now === top ? 'old' : 'new')
      top = now
    }
    expect(outcomes).toHaveLength(3)
    const moved = ok(await O.api.put(`/folders/${top}`, { parent: target() }), 200).json.id
    const file = (await branchOf(moved, 1)).below.flatMap(({ files }) => files)[0]
    expect(ok(await O.api.get(`/files/${file?.id}/content`), 200).text).toBe('hello')
    await expectSound(server)
  }, 300_000)
})
