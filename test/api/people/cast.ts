/**
 * The people of the checklist around one shared folder, made anew for each test: accounts and tokens beside the running
 * server, everything else by requests.
 */
import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { commandDeps } from '../../../src/cli/installation.js'
import { accounts } from '../../../src/service/accounts.js'
import { COMMAND_LINE } from '../../../src/service/journal.js'
import { tokens } from '../../../src/service/tokens.js'
import type { Answer, Client } from '../../support/client.js'
import type { TestServer } from '../../support/server.js'
import { ADMIN, FULL, ok, without } from './support.js'

export const WRITE = ['WRITE']
export const MANAGE = ['MANAGE']
export const OWNER = ['WRITE', 'MANAGE']
export const VIEWER: string[] = []

export const STALE = { 'If-Match': '"deadbeef"' }
export const WEAK = /^W\/"[^"]+"$/
export const SHARE_ID = /^[0-9a-f]{32}$/
export const UNKNOWN_SHARE = 'abcdef0123456789'.repeat(2)

export interface Member {
  readonly email: string
  readonly first_name: string
  readonly last_name: string
  readonly permissions: readonly string[]
}

export interface ShareGroup {
  readonly id: string
  readonly name: string
  readonly permissions: readonly string[]
}

export interface Pending {
  readonly email: string
  readonly first_name?: string
  readonly last_name?: string
  readonly invited_by: string
  readonly permissions: readonly string[]
}

export interface Share {
  readonly id: string
  readonly name: string
  readonly members: readonly Member[]
  readonly groups: readonly ShareGroup[]
  readonly pending: readonly Pending[]
  readonly is_external: boolean
  readonly external: boolean
  readonly caller_effective_permissions: readonly string[]
}

export interface Person {
  readonly email: string
  readonly first_name: string
  readonly last_name: string
  readonly isAdmin: boolean
  /** With all ordinary scopes, and for A with `organization.admin`. */
  readonly api: Client
  /** The same person with a token of these scopes. */
  holding(scope: string, version?: string): Promise<Client>
  /** The same person with the usual scopes but these. */
  without(...names: string[]): Promise<Client>
}

const ROLES = {
  O: ['Olga', 'Owner'],
  M: ['Max', 'Manager'],
  E: ['Eva', 'Editor'],
  V: ['Vera', 'Viewer'],
  G: ['Gus', 'Grouped'],
  P: ['Pia', 'Pending'],
  L: ['Leo', 'Left'],
  S: ['Sam', 'Stranger'],
  A: ['Ada', 'Admin'],
} as const
export type Role = keyof typeof ROLES

export interface Cast extends Readonly<Record<Role, Person>> {
  readonly server: TestServer
  /** The id of the shared folder `Plans`. */
  readonly sh: string
  /** The id of the group that is in it with WRITE. */
  readonly grp: string
  /** The admin with a token that lacks `organization.admin`. */
  readonly A0: Person
  /** An address without an account. */
  readonly N: string
}

/** Accounts alone, with nothing between them. */
export async function makePeople<R extends Role>(
  server: TestServer,
  ...roles: readonly R[]
): Promise<Record<R, Person> & { tag: string }> {
  const tag = randomBytes(4).toString('hex')
  const deps = commandDeps(server.installation, () => undefined)
  const made = await server.installation.db.write(async (tx) => {
    const people: [R, Person][] = []
    for (const role of roles) {
      const [first_name, last_name] = ROLES[role]
      const email = `${role.toLowerCase()}.${tag}@x.test`
      const isAdmin = role === 'A'
      await accounts(deps).add(tx, COMMAND_LINE, {
        email,
        firstName: first_name,
        lastName: last_name,
        isAdmin,
        passwordHash: null,
      })
      const issued = await tokens(deps).issue(tx, COMMAND_LINE, {
        email,
        scope: isAdmin ? ADMIN : FULL,
        appId: undefined,
        lifetimeSeconds: undefined,
      })
      people.push([role, personOf(server, { email, first_name, last_name, isAdmin }, issued.access_token)])
    }
    return people
  })
  return Object.assign(Object.fromEntries(made) as Record<R, Person>, { tag })
}

function personOf(
  server: TestServer,
  about: Pick<Person, 'email' | 'first_name' | 'last_name' | 'isAdmin'>,
  token: string,
): Person {
  const usual = about.isAdmin ? ADMIN : FULL
  const holding: Person['holding'] = async (scope, version) =>
    server.client(await server.addToken(about.email, scope), version)
  return {
    ...about,
    api: server.client(token),
    holding,
    without: (...names) => holding(without(usual, ...names)),
  }
}

/** Everybody of the checklist, as its table says. */
export async function cast(server: TestServer): Promise<Cast> {
  const { tag, ...people } = await makePeople(server, 'O', 'M', 'E', 'V', 'G', 'P', 'L', 'S', 'A')
  const { O, M, E, V, G, P, L, A } = people
  const grp = await addGroup(A, 'Design', G)
  const sh = await makeShare(O, 'Plans')
  await addShareGroup(O, sh, grp, WRITE)
  await addMember(O, sh, M, MANAGE)
  await addMember(O, sh, E, WRITE)
  await addMember(O, sh, V, VIEWER)
  await addMember(O, sh, L, WRITE)
  await leave(L, sh)
  await invite(O, sh, P.email, WRITE)
  const A0 = { ...A, api: await A.without('organization.admin') }
  return { ...people, A0, N: `n.${tag}@x.test`, server, sh, grp }
}

export async function makeShare(
  owner: Person,
  name: string,
  more: Record<string, unknown> = {},
): Promise<string> {
  return ok(await owner.api.post('/shares', { name, ...more }), 201).json.id
}

/** A group of the organization with these people in it. */
export async function addGroup(admin: Person, name: string, ...people: readonly Person[]): Promise<string> {
  const { id } = ok(await admin.api.post('/groups', { name }), 201).json
  for (const person of people) await addToGroup(admin, id, person)
  return id
}

export async function addToGroup(admin: Person, group: string, person: Person): Promise<void> {
  ok(await admin.api.post(`/groups/${group}/members`, { email: person.email }), 201)
}

export async function takeOut(admin: Person, group: string, person: Person): Promise<void> {
  ok(await admin.api.delete(`/groups/${group}/members/${person.email}`), 204)
}

export async function addShareGroup(
  by: Person,
  share: string,
  group: string,
  permissions: readonly string[],
): Promise<void> {
  ok(await by.api.post(`/shares/${share}/groups`, { id: group, permissions }), 201)
}

export async function addMember(
  by: Person,
  share: string,
  person: Person,
  permissions: readonly string[],
): Promise<void> {
  ok(await by.api.post(`/shares/${share}/members`, { email: person.email, permissions }), 201)
}

export async function setMember(
  by: Person,
  share: string,
  person: Person,
  permissions: readonly string[],
): Promise<void> {
  ok(await by.api.put(`/shares/${share}/members/${person.email}`, { permissions }), 200)
}

export async function invite(
  by: Person,
  share: string,
  email: string,
  permissions: readonly string[],
): Promise<void> {
  ok(await by.api.post(`/shares/${share}/pending`, { email, permissions }), 201)
}

export async function accept(person: Person, share: string): Promise<void> {
  ok(await person.api.call('POST', `/users/me/invitations/${share}`), 201)
}

export async function remove(by: Person, share: string, person: Person): Promise<void> {
  ok(await by.api.delete(`/shares/${share}/members/${person.email}`), 204)
}

export async function leave(person: Person, share: string): Promise<void> {
  ok(await person.api.delete(`/shares/${share}/members/me`), 204)
}

/** The share as this person sees it; its shape is checked on the way. */
export async function readShare(person: Person, share: string): Promise<Share> {
  const answer = ok(await person.api.get(`/shares/${share}`), 200)
  return asShare(answer)
}

export function asShare(answer: Answer): Share {
  const share = answer.json as unknown as Share
  expectShare(share)
  return share
}

export function list<T = Record<string, unknown>>(answer: Answer): T[] {
  ok(answer, 200)
  const value: unknown = JSON.parse(answer.text)
  expect(Array.isArray(value), answer.text).toBe(true)
  return value as T[]
}

export function emails(people: readonly { email: string }[]): string[] {
  return people.map(({ email }) => email)
}

/** What a person sees of a share that is none of theirs. */
export async function statusOf(person: Person, share: string): Promise<number> {
  return (await person.api.get(`/shares/${share}`)).status
}

/** The id under which the share stands in this person's tree. */
export async function mountOf(person: Person, share: string): Promise<string> {
  return ok(await person.api.get(`/folders/${share}`), 200).json.id
}

export async function tagOf(person: Person, share: string): Promise<string> {
  const { etag } = ok(await person.api.get(`/shares/${share}`), 200).headers
  expect(etag).toMatch(WEAK)
  return String(etag)
}

export function memberOf(person: Person, permissions: readonly string[]): Member {
  const { email, first_name, last_name } = person
  return { email, first_name, last_name, permissions }
}

const PERMISSIONS = ['[]', '["WRITE"]', '["MANAGE"]', '["WRITE","MANAGE"]']

export function expectPermissions(permissions: readonly string[]): void {
  expect(PERMISSIONS).toContain(JSON.stringify(permissions))
}

function expectKeys(object: object, ...keys: readonly string[]): void {
  expect(Object.keys(object)).toEqual(keys)
  expect(Object.values(object)).not.toContain(null)
}

function expectAscending(values: readonly string[]): void {
  expect(values).toEqual([...values].sort())
}

export function expectMember(member: Member): void {
  expectKeys(member, 'email', 'first_name', 'last_name', 'permissions')
  expectPermissions(member.permissions)
}

export function expectShareGroup(group: ShareGroup): void {
  expectKeys(group, 'id', 'name', 'permissions')
  expectGroupId(group.id)
  expectPermissions(group.permissions)
}

export function expectGroupId(id: unknown): void {
  expect(id).toMatch(/^[1-9]\d*$/)
  expect(Number(id)).toBeLessThanOrEqual(4294967295)
}

export function expectPending(person: Pending): void {
  const names = person.first_name === undefined ? [] : ['first_name', 'last_name']
  expectKeys(person, 'email', ...names, 'invited_by', 'permissions')
  expectPermissions(person.permissions)
}

export function expectInvitation(invitation: Record<string, unknown>): void {
  expectKeys(invitation, 'share_id', 'share_name', 'invited_by', 'permissions')
  expectPermissions(invitation['permissions'] as string[])
}

export function expectShare(share: Share): void {
  expectKeys(
    share,
    'id',
    'name',
    'members',
    'groups',
    'pending',
    'is_external',
    'external',
    'caller_effective_permissions',
  )
  expect(share.id).toMatch(SHARE_ID)
  expect(typeof share.is_external).toBe('boolean')
  expect(share.external).toBe(share.is_external)
  expectPermissions(share.caller_effective_permissions)
  share.members.forEach(expectMember)
  share.groups.forEach(expectShareGroup)
  share.pending.forEach(expectPending)
  expectAscending(emails(share.members))
  expectAscending(emails(share.pending))
  expectAscending(share.groups.map(({ id }) => id))
}

export function expectGroup(group: Record<string, unknown>): void {
  expectKeys(group, 'id', 'name', 'members')
  expectGroupId(group['id'])
  const members = group['members'] as { email: string }[]
  for (const member of members) expectKeys(member, 'email', 'first_name', 'last_name')
  expectAscending(emails(members))
}
