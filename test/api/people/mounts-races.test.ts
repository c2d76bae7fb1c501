/** Many people at once on the same shared folders, with all processes of a node at work. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import { listing, namesIn, wholeTree, type Branch } from '../tree/support.js'
import {
  addGroup,
  addMember,
  addShareGroup,
  cast,
  invite,
  list,
  makePeople,
  makeShare,
  OWNER,
  readShare,
  remove,
  statusOf,
  WRITE,
  type Share,
} from './cast.js'
import { expectSound, ok } from './support.js'

const countOf = (branch: Branch): number =>
  branch.folders.length + branch.files.length + branch.below.reduce((sum, below) => sum + countOf(below), 0)

describe.each(ENGINES)('shared folders under many hands on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine, { workers: 2 })
  })
  afterAll(() => server.stop())

  it('get names of their own when one person joins many of one name at once [SHARE-28] [MOVE-36]', async () => {
    const { O, M, S, A } = await makePeople(server, 'O', 'M', 'S', 'A')
    const shares = await Promise.all([O, M, O, M, O, M].map((owner) => makeShare(owner, 'Plans')))
    const [first = '', second = '', third = '', fourth = '', fifth = '', sixth = ''] = shares
    await invite(O, third, S.email, WRITE)
    await invite(M, fourth, S.email, WRITE)
    const group = await addGroup(A, 'Group', S)
    const body = { email: S.email, permissions: WRITE }
    const answers = await Promise.all([
      O.api.post(`/shares/${first}/members`, body),
      M.api.post(`/shares/${second}/members`, body),
      S.api.call('POST', `/users/me/invitations/${third}`),
      S.api.call('POST', `/users/me/invitations/${fourth}`),
      O.api.post(`/shares/${fifth}/groups`, { id: group, permissions: WRITE }),
      M.api.post(`/shares/${sixth}/groups`, { id: group, permissions: WRITE }),
      S.api.post('/folders', { name: 'Plans', parent: 'root' }),
    ])
    const [plain] = answers.map(({ status }) => status).slice(-1)
    expect([201, 409]).toContain(plain)
    for (const answer of answers.slice(0, -1)) ok(answer, 201)
    const mounts = (await listing(S.api)).folders.filter(({ sid }) => sid !== undefined)
    expect(mounts).toHaveLength(6)
    expect(new Set(mounts.map(({ name }) => name)).size).toBe(6)
    const named = list<Share>(await S.api.get('/users/me/shares')).map(({ id, name }) => [id, name])
    expect(Object.fromEntries(named)).toEqual(
      Object.fromEntries(mounts.map(({ sid, name }) => [sid as string, name])),
    )
  })

  it('take a folder that is moved to two places at once into one of them [MOVE-21]', async () => {
    const { O, E } = await makePeople(server, 'O', 'E')
    const shares = [await makeShare(O, 'First'), await makeShare(O, 'Second')]
    for (const share of shares) await addMember(O, share, E, WRITE)
    for (let round = 0; round < 3; round += 1) {
      const name = `top ${round}`
      const top = await O.api.folder(name, shares[0])
      for (const index of [1, 2, 3]) await O.api.file(`f${index}`, await O.api.folder(`d${index}`, top), 'x')
      const answers = await Promise.all([
        O.api.put(`/folders/${top}`, { parent: shares[1] }),
        E.api.put(`/folders/${top}`, { parent: 'root' }),
        E.api.put(`/folders/${top}`, { parent: shares[1] }),
      ])
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404])
      const winner = answers.find(({ status }) => status === 200)
      expect(countOf(await wholeTree(E.api, winner?.json.id))).toBe(6)
      const places = [await namesIn(E.api), await namesIn(E.api, shares[0]), await namesIn(E.api, shares[1])]
      expect(places.flat().filter((found) => found === name)).toHaveLength(1)
    }
    await expectSound(server)
  })

  it('lose nothing that is written into a folder while it moves [MOVE-21] [MOVE-25]', async () => {
    const { O, E } = await makePeople(server, 'O', 'E')
    const share = await makeShare(O, 'Plans')
    const other = await makeShare(O, 'Other')
    for (const one of [share, other]) await addMember(O, one, E, OWNER)
    let top = await O.api.folder('top', share)
    for (let round = 0; round < 3; round += 1) {
      const parent = top.startsWith(share) ? other : share
      const before = (await listing(O.api, top)).files.length
      const [moved, ...made] = await Promise.all([
        O.api.put(`/folders/${top}`, { parent }),
        ...Array.from({ length: 8 }, (_, index) =>
          E.api.post('/files', { name: `${round} ${index}`, parent: top }),
        ),
      ])
      ok(moved, 200)
      for (const { status } of made) expect([201, 404]).toContain(status)
      top = moved.json.id
      const { files } = await listing(E.api, top)
      expect(files).toHaveLength(before + made.filter(({ status }) => status === 201).length)
    }
    await expectSound(server)
  })

  it('stay sound while people come, go, move and delete [ACL-15] [SHARE-46]', async () => {
    const { O, M, E, V, G, S, A, sh, grp } = await cast(server)
    const inside = await O.api.folder('inside', sh)
    await O.api.file('file', inside, 'hello')
    const own = await E.api.folder('own')
    await E.api.file('file', own, 'hello')
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all([
        A.api.post(`/groups/${grp}/members`, { email: S.email }),
        G.api.delete(`/shares/${sh}/members/me`),
        O.api.put(`/shares/${sh}/groups/${grp}`, { permissions: round % 2 === 0 ? OWNER : WRITE }),
        O.api.delete(`/shares/${sh}/members/${E.email}`),
        E.api.put(`/folders/${own}`, { parent: sh }),
        E.api.post('/files', { name: `new ${round}`, parent: inside }),
        V.api.put(`/folders/${sh}`, { name: `Mine ${round}` }),
        V.api.delete(`/folders/${sh}`),
        M.api.post(`/shares/${sh}/members`, { email: G.email, permissions: OWNER }),
        A.api.delete(`/groups/${grp}/members/${S.email}`),
        O.api.post(`/shares/${sh}/members`, { email: V.email, permissions: WRITE }),
        A.api.get(`/shares/${sh}`),
      ])
      for (const answer of answers) {
        expect([200, 201, 204, 403, 404, 409], answer.text).toContain(answer.status)
      }
      const share = await readShare(A, sh)
      expect(share.members.some(({ permissions }) => permissions.includes('MANAGE'))).toBe(true)
      const isThere = share.members.some(({ email }) => email === E.email)
      if (!isThere) await addMember(O, sh, E, WRITE)
    }
    await expectSound(server)
  })

  it('end once, for everything that is going on in them [SHARE-46] [SHARE-48]', async () => {
    for (let round = 0; round < 3; round += 1) {
      const { O, E, A } = await makePeople(server, 'O', 'E', 'A')
      const sh = await makeShare(O, 'Plans')
      await addShareGroup(O, sh, await addGroup(A, 'Group', E), OWNER)
      const folder = await O.api.folder('folder', sh)
      const file = await O.api.file('file', folder, 'x'.repeat(100_000))
      await remove(A, sh, O)
      const answers = await Promise.all([
        E.api.delete(`/shares/${sh}/members/me`),
        E.api.post('/folders', { name: 'new', parent: folder }),
        E.api.upload(file, 'y'.repeat(90_000)),
        E.api.put(`/folders/${folder}`, { parent: 'root' }),
        A.api.post(`/shares/${sh}/members`, { email: O.email, permissions: WRITE }),
        A.api.post(`/shares/${sh}/pending`, { email: O.email, permissions: WRITE }),
      ])
      for (const answer of answers) {
        expect([201, 200, 204, 404, 409], answer.text).toContain(answer.status)
      }
      const [left, , , , added] = answers
      if (left.status === 204) {
        expect(added.status).toBe(404)
        for (const person of [O, E, A]) expect(await statusOf(person, sh)).toBe(404)
        expect(list(await O.api.get('/users/me/invitations'))).toEqual([])
      } else expect([left.status, added.status]).toEqual([409, 201])
    }
    await expectSound(server)
  })
})
