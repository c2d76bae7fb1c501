import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import { expectRefusal, listing, wholeTree, type Branch } from './support.js'

/** The ids of everything in a tree, each as often as it is listed. */
function idsOf(branch: Branch): string[] {
  const own = [...branch.folders, ...branch.files].map((item) => item.id)
  return [...own, ...branch.below.flatMap((below) => idsOf(below))].sort()
}

describe.each(ENGINES)('moving at once on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine, { workers: 2 })
  })
  afterAll(() => server.stop())

  it('never lets two folders move into each other [MOVE-17]', async () => {
    const { api } = await server.person()
    const all: string[] = []
    for (let round = 0; round < 10; round += 1) {
      const a = await api.folder(`A ${round}`)
      const b = await api.folder(`B ${round}`)
      const inA = await api.folder('in A', a)
      const inB = await api.folder('in B', b)
      all.push(a, b, inA, inB)
      const [parentOfA, parentOfB] = round % 2 === 0 ? [b, a] : [inB, inA]
      const answers = await Promise.all([
        api.put(`/folders/${a}`, { parent: parentOfA }),
        api.put(`/folders/${b}`, { parent: parentOfB }),
      ])
      expect(answers.map((answer) => answer.status).sort()).toEqual([200, 400])
      for (const answer of answers) if (answer.status !== 200) expectRefusal(answer, 400)
    }
    expect(idsOf(await wholeTree(api))).toEqual(all.sort())
  })

  it('never closes a circle of three folders [MOVE-17]', async () => {
    const { api } = await server.person()
    const all: string[] = []
    for (let round = 0; round < 5; round += 1) {
      const ids = await Promise.all(['a', 'b', 'c'].map((name) => api.folder(`${name} ${round}`)))
      all.push(...ids)
      const answers = await Promise.all(
        ids.map((id, index) => api.put(`/folders/${id}`, { parent: ids[(index + 1) % 3] })),
      )
      expect(answers.map((answer) => answer.status).sort()).toEqual([200, 200, 400])
    }
    expect(idsOf(await wholeTree(api))).toEqual(all.sort())
  })

  it('lets one outcome of many renames and moves at once stand [MOVE-37]', async () => {
    const { api } = await server.person()
    for (let round = 0; round < 3; round += 1) {
      const home = await api.folder(`round ${round}`)
      const targets = await Promise.all(
        Array.from({ length: 4 }, (_, index) => api.folder(`target ${index}`, home)),
      )
      const folder = await api.folder('folder', home)
      const file = await api.file('file', folder, 'hello')
      await api.folder('taken', targets[0])
      const wishes = Array.from({ length: 16 }, (_, index) => ({
        name: index === 8 ? 'taken' : `name ${index}`,
        parent: targets[index % 4] ?? '',
      }))
      const answers = await Promise.all(wishes.map((wish) => api.put(`/folders/${folder}`, wish)))
      for (const [index, answer] of answers.entries()) {
        if (index === 8) expectRefusal(answer, 409)
        else
          expect({ status: answer.status, ...answer.json }).toMatchObject({
            status: 200,
            id: folder,
            ...wishes[index],
          })
      }
      const { name, parent } = (await api.get(`/folders/${folder}`)).json
      expect(wishes).toContainEqual({ name, parent })
      const listed = await Promise.all([home, ...targets].map((target) => listing(api, target)))
      const places = listed.flatMap(({ folders }) => folders.filter((child) => child.id === folder))
      expect(places.map((place) => place.parent)).toEqual([parent])
      expect((await listing(api, folder)).files.map((child) => child.id)).toEqual([file])
    }
  })

  it('leaves a sound tree behind after all of this [MOVE-17] [MOVE-37]', async () => {
    expect(await server.command('check')).toMatchObject({ status: 0, stdout: 'no broken invariant\n' })
  })
})
