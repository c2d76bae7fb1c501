import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import { expectError, unchanged } from '../support.js'
import { namesIn } from '../tree/support.js'
import {
  accept,
  cast,
  emails,
  expectPending,
  invite,
  list,
  makePeople,
  makeShare,
  MANAGE,
  memberOf,
  OWNER,
  readShare,
  statusOf,
  tagOf,
  VIEWER,
  WEAK,
  WRITE,
  type Pending,
} from './cast.js'
import { expectEmpty, locationOf, ok } from './support.js'

describe.each(ENGINES)('people invited to shared folders on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  /** What was sent to an address: one file each, and what still waits to be written. */
  async function mailsTo(email: string): Promise<string[]> {
    const outbox = join(server.dataDir, 'outbox')
    const waiting = await server.installation.db.read((tx) =>
      tx.all<{ body: string }>('SELECT body FROM mails WHERE recipient = $1', email),
    )
    const names = await readdir(outbox).catch(() => [])
    const written = await Promise.all(names.map((name) => readFile(join(outbox, name), 'utf8')))
    return [...waiting.map(({ body }) => body), ...written.filter((text) => text.includes(email))]
  }

  it('lists them by address, with names where there is an account [PEND-01] [PEND-02] [PEND-03]', async () => {
    const { O, M, E, V, G, P, L, S, A, N, sh } = await cast(server)
    await invite(M, sh, N, MANAGE)
    const ofN = { email: N, invited_by: M.email, permissions: MANAGE }
    const { first_name, last_name } = P
    const ofP = { email: P.email, first_name, last_name, invited_by: O.email, permissions: WRITE }
    for (const { api } of [O, M, E, V, G, A]) {
      const answer = await api.get(`/shares/${sh}/pending`)
      const pending = list<Pending>(answer)
      expect(pending).toEqual([ofN, ofP])
      pending.forEach(expectPending)
      expect(answer.headers.etag).toMatch(WEAK)
      for (const one of [ofN, ofP]) {
        const single = ok(await api.get(`/shares/${sh}/pending/${one.email}`), 200)
        expect(single.json).toEqual(one)
        expect(single.headers.etag).toBe(answer.headers.etag)
      }
      for (const email of [...emails([O, E, G, L, S]), 'nobody@x.test', 'me']) {
        expectError(await api.get(`/shares/${sh}/pending/${email}`), 404, email)
      }
    }
    const empty = await makeShare(S, 'Empty')
    expect(list(await S.api.get(`/shares/${empty}/pending`))).toEqual([])
  })

  it('is for those who see the share, and needs the scopes [PEND-04] [PEND-05] [PEND-12]', async () => {
    const { O, E, V, G, P, L, S, A, A0, N, sh } = await cast(server)
    const blind = await Promise.all([O, A].map((person) => person.without('acl.read')))
    const reading = await Promise.all([O, A].map((person) => person.without('acl.write')))
    const body = { email: N, permissions: [] }
    await unchanged(server, async () => {
      for (const person of [P, L, S, A0]) {
        for (const email of [P.email, 'me', N]) {
          expectError(await person.api.get(`/shares/${sh}/pending/${email}`), 404)
          expectError(await person.api.delete(`/shares/${sh}/pending/${email}`), 404)
        }
        expectError(await person.api.get(`/shares/${sh}/pending`), 404)
        expectError(await person.api.post(`/shares/${sh}/pending`, body), 404)
      }
      for (const api of blind) {
        expectError(await api.get(`/shares/${sh}/pending`), 403)
        expectError(await api.get(`/shares/${sh}/pending/${P.email}`), 403)
      }
      for (const api of reading) {
        expectError(await api.post(`/shares/${sh}/pending`, body), 403)
        expectError(await api.delete(`/shares/${sh}/pending/${P.email}`), 403)
      }
      for (const { api } of [E, V, G]) {
        expectError(await api.post(`/shares/${sh}/pending`, body), 403)
        expectError(await api.delete(`/shares/${sh}/pending/${P.email}`), 403)
      }
    })
  })

  it('invites somebody, who then sees the invitation and nothing else [PEND-07] [PEND-08] [PEND-09]', async () => {
    const { O, M, S, sh } = await cast(server)
    const note = 'a secret greeting'
    const answer = ok(
      await M.api.post(`/shares/${sh}/pending`, { email: S.email, permissions: WRITE, note }),
      201,
    )
    const { email, first_name, last_name } = S
    expect(answer.json).toEqual({ email, first_name, last_name, invited_by: M.email, permissions: WRITE })
    expectPending(answer.json as unknown as Pending)
    expect(locationOf(server, answer)).toBe(`/shares/${sh}/pending/${S.email}`)
    expect(answer.headers.etag).toBe(await tagOf(M, sh))
    expect(await statusOf(S, sh)).toBe(404)
    expectError(await S.api.get(`/folders/${sh}`), 404)
    expect(list(await S.api.get('/users/me/shares'))).toEqual([])
    expect(await namesIn(S.api)).toEqual([])
    const invitations = list(await S.api.get('/users/me/invitations'))
    expect(invitations.map((one) => one['share_id'])).toEqual([sh])
    for (const [api, path] of [
      [O.api, `/shares/${sh}`],
      [O.api, `/shares/${sh}/pending`],
      [M.api, `/shares/${sh}/pending/${S.email}`],
      [S.api, '/users/me/invitations'],
      [S.api, `/users/me/invitations/${sh}`],
      [S.api, '/users/me'],
    ] as const) {
      expect(ok(await api.get(path), 200).text).not.toContain(note)
    }
    expect(answer.text).not.toContain(note)
    const accepted = ok(await S.api.call('POST', `/users/me/invitations/${sh}`), 201)
    expect(accepted.text).not.toContain(note)
    const mails = await mailsTo(S.email)
    expect(mails.filter((mail) => mail.includes(note))).toHaveLength(1)
  })

  it('lets an admin invite, themselves too [PEND-13]', async () => {
    const { O, A, S, sh } = await cast(server)
    for (const person of [S, A]) {
      const body = { email: person.email, permissions: OWNER }
      expect(ok(await A.api.post(`/shares/${sh}/pending`, body), 201).json['invited_by']).toBe(A.email)
    }
    const share = await readShare(O, sh)
    expect(emails(share.members)).not.toContain(A.email)
    await accept(A, sh)
    expect((await readShare(A, sh)).caller_effective_permissions).toEqual(OWNER)
  })

  it('makes an invitee of an address without an account, once [PEND-14] [PEND-24]', async () => {
    const { O, M, A, N, sh } = await cast(server)
    await invite(O, sh, N, WRITE)
    const first = ok(await A.api.get(`/invitees/${N}`), 200).json
    expect(first['email_from']).toBe(O.email)
    expect(first['signup_code']).toMatch(/./)
    await invite(M, sh, N, MANAGE)
    expect(ok(await A.api.get(`/invitees/${N}`), 200).json).toEqual(first)
    ok(await A.api.delete(`/invitees/${N}`), 204)
    expect(emails((await readShare(O, sh)).pending)).toContain(N)
    const account = { email: N, first_name: 'Nora', last_name: 'New' }
    ok(await A.api.post('/users', account), 201)
    const ofN = { ...account, invited_by: M.email, permissions: MANAGE }
    expect((await readShare(O, sh)).pending).toContainEqual(ofN)
    const api = server.client(await server.addToken(N, 'acl.invitations'))
    ok(await api.call('POST', `/users/me/invitations/${sh}`), 201)
    expect((await readShare(O, sh)).members).toContainEqual({ ...account, permissions: MANAGE })
  })

  it('replaces an invitation by the next one [PEND-16] [INVITATION-19]', async () => {
    const { O, M, P, sh } = await cast(server)
    const body = { email: P.email, permissions: OWNER }
    const answer = ok(await M.api.post(`/shares/${sh}/pending`, body), 201)
    expect(answer.json).toMatchObject({ invited_by: M.email, permissions: OWNER })
    expect((await readShare(O, sh)).pending).toEqual([answer.json])
    const invitations = list(await P.api.get('/users/me/invitations'))
    expect(invitations).toEqual([
      { share_id: sh, share_name: 'Plans', invited_by: M.email, permissions: OWNER },
    ])
    await accept(P, sh)
    expect((await readShare(P, sh)).caller_effective_permissions).toEqual(OWNER)
  })

  it('takes people who left or are in through a group, and no direct members [PEND-17] [PEND-18] [PEND-19]', async () => {
    const { O, M, E, V, G, L, sh } = await cast(server)
    await unchanged(server, async () => {
      for (const person of [O, M, E, V]) {
        const body = { email: person.email, permissions: OWNER }
        expectError(await O.api.post(`/shares/${sh}/pending`, body), 409)
      }
    })
    await invite(O, sh, L.email, VIEWER)
    expect(await statusOf(L, sh)).toBe(404)
    await invite(O, sh, G.email, MANAGE)
    const share = await readShare(G, sh)
    expect(share.caller_effective_permissions).toEqual(WRITE)
    expect(emails(share.pending)).toEqual(expect.arrayContaining(emails([G, L])))
    await accept(G, sh)
    await accept(L, sh)
    const after = await readShare(G, sh)
    expect(after.caller_effective_permissions).toEqual(OWNER)
    expect(after.members).toEqual(expect.arrayContaining([memberOf(G, MANAGE), memberOf(L, VIEWER)]))
    expect(await namesIn(G.api)).toEqual(['Plans'])
  })

  it('revokes an invitation, after which there may be another [PEND-20] [PEND-21] [PEND-23]', async () => {
    const { O, M, E, G, P, L, S, A, N, sh } = await cast(server)
    await unchanged(server, async () => {
      for (const email of [...emails([O, E, G, L, S]), N]) {
        expectError(await O.api.delete(`/shares/${sh}/pending/${email}`), 404, email)
      }
    })
    for (const { api } of [O, M, A]) {
      const answer = await api.delete(`/shares/${sh}/pending/${P.email}`)
      expectEmpty(answer, 204)
      expect(answer.headers.etag).toBeUndefined()
      expectError(await api.delete(`/shares/${sh}/pending/${P.email}`), 404)
      expect(list(await P.api.get('/users/me/invitations'))).toEqual([])
      for (const method of ['GET', 'POST', 'DELETE']) {
        expectError(await P.api.call(method, `/users/me/invitations/${sh}`), 404)
      }
      expect((await readShare(O, sh)).pending).toEqual([])
      await invite(O, sh, P.email, VIEWER)
    }
    await accept(P, sh)
  })

  it('ends in one state when revoking and accepting meet [PEND-27]', async () => {
    const { O, P, sh } = await cast(server)
    for (let round = 0; round < 4; round += 1) {
      const [revoked, accepted] = await Promise.all([
        O.api.delete(`/shares/${sh}/pending/${P.email}`),
        P.api.call('POST', `/users/me/invitations/${sh}`),
      ])
      const share = await readShare(O, sh)
      expect(share.pending).toEqual([])
      const isMember = emails(share.members).includes(P.email)
      expect([revoked.status, accepted.status]).toEqual(isMember ? [404, 201] : [204, 404])
      if (isMember) ok(await O.api.delete(`/shares/${sh}/members/${P.email}`), 204)
      await invite(O, sh, P.email, WRITE)
    }
  })

  it('leaves addresses without an account to admins where the policy says so [PEND-14] [PEND-15]', async () => {
    const { O, M, A, tag } = await makePeople(server, 'O', 'M', 'A')
    const sh = await makeShare(O, 'Plans')
    const N = `n.${tag}@x.test`
    await server.terminate()
    await server.restart(['--signup', 'open'])
    await invite(O, sh, `open.${N}`, VIEWER)
    expect(ok(await A.api.get(`/invitees/open.${N}`), 200).json['email_from']).toBe(O.email)
    await server.terminate()
    await server.restart(['--signup', 'admin'])
    await unchanged(server, async () => {
      expectError(await O.api.post(`/shares/${sh}/pending`, { email: N, permissions: [] }), 403)
    })
    expectError(await A.api.get(`/invitees/${N}`), 404)
    await invite(O, sh, M.email, WRITE)
    await invite(A, sh, N, WRITE)
    expect(ok(await A.api.get(`/invitees/${N}`), 200).json['email_from']).toBe(A.email)
  })
})
