/** Random histories of shares, groups and invitations, told to the server and to a small model of the rules. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { useServer } from '../content/support.js'
import { ADMIN, expectSound, FULL, listOf, newAddress, ok, type Json } from './support.js'
import { MANAGE, Model, WRITE, type Bits, type Share } from './model.js'

const RUNS = Number(process.env['STARLING_TEST_RUNS'] ?? 3)
const OPERATIONS = 60
const LOOK_EVERY = 15
const PEOPLE = 5
const ADMINISTRATOR = PEOPLE - 1
const GROUPS = 2

const person = fc.nat({ max: PEOPLE - 1 })
const share = fc.nat({ max: 100 })
const group = fc.nat({ max: GROUPS - 1 })
const permissions = fc.constantFrom<Bits>(0, 1, 2, 3)
const as = <const T extends string>(verb: T): fc.Arbitrary<T> => fc.constant(verb)

const operation = fc.oneof(
  { weight: 1, arbitrary: fc.record({ do: as('create'), actor: person }) },
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constantFrom('addMember', 'setMember', 'removeMember', 'invite', 'revoke'),
      actor: person,
      share,
      person,
      permissions,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constantFrom('accept', 'ignore', 'accept'), actor: person, share }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('leave', 'unmount'), actor: person, share }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('addGroup', 'addGroup', 'setGroup', 'removeGroup'),
      actor: person,
      share,
      group,
      permissions,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom('enter', 'enter', 'exit'),
      actor: fc.constantFrom(ADMINISTRATOR, ADMINISTRATOR, 0),
      group,
      person,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: as('dissolve'), actor: fc.constantFrom(ADMINISTRATOR, 1), group }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: as('deletePerson'), actor: as('x'), person: fc.nat({ max: PEOPLE - 2 }) }),
  },
)
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never

function names(bits: number): string[] {
  return [...((bits & WRITE) === 0 ? [] : ['WRITE']), ...((bits & MANAGE) === 0 ? [] : ['MANAGE'])]
}

describe.each(ENGINES)('the history of people and shares on %s', (engine) => {
  const server = useServer(engine)

  interface World {
    readonly model: Model
    readonly emails: string[]
    readonly apis: Client[]
    readonly shares: string[]
    readonly groups: string[]
    /** A file in each share, made with it. */
    readonly files: string[]
  }

  async function newWorld(): Promise<World> {
    const emails = Array.from({ length: PEOPLE }, (_, index) => newAddress(`p${index}.`))
    const apis: Client[] = []
    for (const [index, email] of emails.entries()) {
      const isAdmin = index === ADMINISTRATOR
      await server().addUser({ email, admin: isAdmin })
      apis.push(server().client(await server().addToken(email, isAdmin ? ADMIN : FULL)))
    }
    const world: World = {
      model: new Model(ADMINISTRATOR, GROUPS),
      emails,
      apis,
      shares: [],
      groups: [],
      files: [],
    }
    for (let index = 0; index < GROUPS; index += 1)
      world.groups.push(ok(await at(apis, ADMINISTRATOR).post('/groups', { name: `g${index}` }), 201).json.id)
    await create(world, 0)
    await create(world, 1)
    return world
  }

  async function create(world: World, actor: number): Promise<void> {
    world.model.create(actor)
    const api = at(world.apis, actor)
    const id = ok(await api.post('/shares', { name: shareName(world.shares.length) }), 201).json.id
    world.shares.push(id)
    world.files.push(await api.file('file.txt', id, 'content'))
  }

  /** Does one thing to both and compares what they say. */
  async function step(world: World, step: Operation): Promise<void> {
    const { model, emails, apis, groups } = world
    if (step.do === 'create') return create(world, step.actor)
    if (step.do === 'deletePerson') return deletePerson(world, step.person)
    const api = at(apis, step.actor)
    const expected = (status: number, told: { status: number; text: string }): void =>
      expect(told.status, `${JSON.stringify(step)} ${told.text}`).toBe(status)
    if (!('share' in step)) {
      const path = `/groups/${at(groups, step.group)}`
      switch (step.do) {
        case 'enter':
          return expected(
            model.enter(step.actor, step.group, step.person),
            await api.post(`${path}/members`, { email: at(emails, step.person) }),
          )
        case 'exit':
          return expected(
            model.exit(step.actor, step.group, step.person),
            await api.delete(`${path}/members/${at(emails, step.person)}`),
          )
        case 'dissolve':
          return expected(model.dissolve(step.actor, step.group), await api.delete(path))
      }
    }
    const index = step.share % world.shares.length
    const [share, id] = [at(model.shares, index), at(world.shares, index)]
    switch (step.do) {
      case 'accept':
        return expected(
          model.accept(share, step.actor),
          await api.call('POST', `/users/me/invitations/${id}`),
        )
      case 'ignore':
        return expected(model.ignore(share, step.actor), await api.delete(`/users/me/invitations/${id}`))
      case 'leave':
        return expected(model.leave(share, step.actor), await api.delete(`/shares/${id}/members/me`))
      case 'unmount': {
        // The admin reaches a share without being in it; then there is no mount to delete.
        if (model.effective(share, step.actor) === undefined && step.actor === ADMINISTRATOR) return
        return expected(model.leave(share, step.actor), await api.delete(`/folders/${id}`))
      }
      case 'addGroup':
      case 'setGroup':
      case 'removeGroup': {
        const path = `/shares/${id}/groups`
        const body = { id: at(groups, step.group), permissions: names(step.permissions) }
        if (step.do === 'addGroup')
          return expected(
            model.addGroup(share, step.actor, step.group, step.permissions),
            await api.post(path, body),
          )
        if (step.do === 'setGroup')
          return expected(
            model.setGroup(share, step.actor, step.group, step.permissions),
            await api.put(`${path}/${body.id}`, body),
          )
        return expected(
          model.removeGroup(share, step.actor, step.group),
          await api.delete(`${path}/${body.id}`),
        )
      }
      default: {
        const email = at(emails, step.person)
        const body = { email, permissions: names(step.permissions) }
        const [members, pending] = [`/shares/${id}/members`, `/shares/${id}/pending`]
        const verbs = {
          addMember: () => api.post(members, body),
          setMember: () => api.put(`${members}/${email}`, body),
          removeMember: () => api.delete(`${members}/${email}`),
          invite: () => api.post(pending, body),
          revoke: () => api.delete(`${pending}/${email}`),
        }
        const status = model[step.do](share, step.actor, step.person, step.permissions)
        return expected(status, await verbs[step.do]())
      }
    }
  }

  /** The address is given to a new account at once, which has nothing of the old one. */
  async function deletePerson({ model, emails, apis }: World, person: number): Promise<void> {
    const email = at(emails, person)
    const admin = at(apis, ADMINISTRATOR)
    ok(await admin.delete(`/users/${email}`), model.deletePerson(ADMINISTRATOR, person))
    ok(await admin.post('/users', { email, first_name: 'Test', last_name: 'Person' }), 201)
    apis[person] = server().client(await server().addToken(email, FULL))
  }

  async function expectSame(world: World): Promise<void> {
    for (let person = 0; person < PEOPLE; person += 1) await expectSameFor(world, person)
    for (const [index, share] of world.model.shares.entries()) await expectSameShare(world, share, index)
  }

  /** Everything that one person sees of all shares. */
  async function expectSameFor({ model, apis, shares, files, emails }: World, person: number): Promise<void> {
    const api = at(apis, person)
    const isIn = (share: Share): boolean => model.effective(share, person) !== undefined
    const mine = shares.filter((_, index) => isIn(at(model.shares, index)))
    const told = listOf(await api.get('/users/me/shares'))
    expect(told.map((each) => [each['id'], each['caller_effective_permissions']])).toEqual(
      mine.map((id) => [id, names(model.effective(at(model.shares, shares.indexOf(id)), person) ?? 0)]),
    )
    const children = ok(await api.get('/folders/root/children'), 200).json as unknown as { folders: Json[] }
    expect(children.folders.map(({ sid }) => sid)).toEqual(mine)
    const invitations = listOf(await api.get('/users/me/invitations'))
    const open = shares.flatMap((id, index) => {
      const invitation = at(model.shares, index).invitations.get(person)
      if (invitation === undefined) return []
      const [by, permissions] = [at(emails, invitation.by), names(invitation.permissions)]
      return [{ share_id: id, share_name: shareName(index), invited_by: by, permissions }]
    })
    expect(invitations).toEqual(open)
    for (const [index, file] of files.entries()) {
      const share = at(model.shares, index)
      const isAdmin = person === ADMINISTRATOR
      const isSeen = model.isVisible(share, person)
      expect((await api.get(`/files/${file}/content`)).status).toBe(isSeen ? 200 : 404)
      const mayWrite = isAdmin || ((model.effective(share, person) ?? 0) & WRITE) !== 0
      expect((await api.upload(file, 'content')).status).toBe(isSeen ? (mayWrite ? 204 : 403) : 404)
    }
  }

  async function expectSameShare(world: World, share: Share, index: number): Promise<void> {
    const { model, apis, emails, groups, shares } = world
    const answer = await at(apis, ADMINISTRATOR).get(`/shares/${at(shares, index)}`)
    if (!share.isThere) return void expect(answer.status).toBe(404)
    const told = ok(answer, 200).json
    const members = [...share.people].flatMap(([person, { isJoined, direct }]) =>
      isJoined && direct !== undefined ? [[at(emails, person), names(direct)]] : [],
    )
    const facts = (list: unknown, key: string): unknown[] =>
      (list as Json[]).map((each) => [each[key], each['permissions']])
    expect(facts(told['members'], 'email')).toEqual(members.sort())
    const pending = [...share.invitations].map(([person, { permissions }]) => [
      at(emails, person),
      names(permissions),
    ])
    expect(facts(told['pending'], 'email')).toEqual(pending.sort())
    const inside = [...share.groups].map(([group, bits]) => [at(groups, group), names(bits)])
    expect(facts(told['groups'], 'id')).toEqual(inside.sort())
    const owners = model.joined(share).filter((each) => ((model.effective(share, each) ?? 0) & MANAGE) !== 0)
    expect(owners.length).toBeGreaterThan(0)
  }

  test(
    'is what a small model of the rules says, answer by answer and list by list [ACL-14] [ACL-15]',
    { timeout: 300_000 },
    async () => {
      const history = fc.array(operation, { minLength: OPERATIONS, maxLength: OPERATIONS })
      await fc.assert(
        fc.asyncProperty(history, async (steps) => {
          const world = await newWorld()
          for (const [index, each] of steps.entries()) {
            await step(world, each)
            if (index % LOOK_EVERY === LOOK_EVERY - 1) await expectSame(world)
          }
          await expectSame(world)
        }),
        { numRuns: RUNS, endOnFailure: true },
      )
      await expectSound(server())
    },
  )
})

function at<T>(list: readonly T[], index: number): T {
  const value = list[index]
  if (value === undefined) throw new Error(`there is no ${index}`)
  return value
}

/** Names whose order is that of their making. */
function shareName(index: number): string {
  return `s${String(index).padStart(3, '0')}`
}
