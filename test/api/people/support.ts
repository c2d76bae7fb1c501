/** What the tests about people share: persons with all ordinary scopes, shares and groups made through the API. */
import { expect } from 'vitest'
import { SCOPES } from '../../../src/model/scopes.js'
import { CURRENT, type Answer, type Client } from '../../support/client.js'
import type { TestServer } from '../../support/server.js'

export type Json = Record<string, unknown>

const NAMES: readonly string[] = SCOPES.map(({ name }) => name)

/** Every ordinary scope. */
export const FULL = NAMES.filter((name) => name !== 'organization.admin').join(',')
/** Every scope there is. */
export const ADMIN = NAMES.join(',')

/** The list of scopes with some left out. */
export function without(scopes: string, ...left: string[]): string {
  return scopes
    .split(',')
    .filter((name) => !left.includes(name))
    .join(',')
}

export interface Someone {
  readonly email: string
  readonly token: string
  readonly api: Client
}

export async function someone(server: TestServer, email?: string): Promise<Someone> {
  const address = await server.addUser(email === undefined ? {} : { email })
  const token = await server.addToken(address, FULL)
  return { email: address, token, api: server.client(token) }
}

export interface Administrator extends Someone {
  /** The same person with a token that lacks `organization.admin`. */
  readonly ordinary: Client
}

export async function administrator(server: TestServer, email?: string): Promise<Administrator> {
  const address = await server.addUser({ admin: true, ...(email === undefined ? {} : { email }) })
  const token = await server.addToken(address, ADMIN)
  const ordinary = server.client(await server.addToken(address, FULL))
  return { email: address, token, api: server.client(token), ordinary }
}

/** The same person with other scopes. */
export async function withScopes(server: TestServer, person: Someone, scopes: string): Promise<Client> {
  return server.client(await server.addToken(person.email, scopes))
}

let addresses = 0

/** An address that nobody has. */
export function newAddress(mark = 'new'): string {
  return `${mark}${(addresses += 1)}-${process.pid}@x.test`
}

export function listOf(answer: Answer): Json[] {
  expect(answer.status, answer.text).toBe(200)
  expect(Array.isArray(answer.json), answer.text).toBe(true)
  return answer.json as unknown as Json[]
}

/** The answer if it has that status; a failure that shows the whole answer otherwise. */
export function ok(answer: Answer, status: number): Answer {
  expect(answer.status, answer.text).toBe(status)
  return answer
}

/** A body of no bytes with the framing that the status asks for. */
export function expectEmpty(answer: Answer, status: number): void {
  ok(answer, status)
  expect(answer.body).toHaveLength(0)
  expect(answer.headers['content-length']).toBeUndefined()
  expect(answer.headers['transfer-encoding']).toBe(status === 204 ? undefined : 'chunked')
}

export const PLAIN_KEYS = ['email', 'first_name', 'last_name']
export const USER_KEYS = [...PLAIN_KEYS, 'shares', 'invitations']

export async function newShare(api: Client, name = 'Plans', more: Json = {}): Promise<string> {
  return ok(await api.post('/shares', { name, ...more }), 201).json.id
}

export async function addMember(
  owner: Client,
  share: string,
  email: string,
  permissions: readonly string[],
): Promise<void> {
  ok(await owner.post(`/shares/${share}/members`, { email, permissions }), 201)
}

export async function invite(
  owner: Client,
  share: string,
  email: string,
  permissions: readonly string[],
): Promise<void> {
  ok(await owner.post(`/shares/${share}/pending`, { email, permissions }), 201)
}

/** A group of the organization with these people. */
export async function newGroup(admin: Client, ...emails: string[]): Promise<string> {
  const { id } = ok(await admin.post('/groups', { name: 'Group' }), 201).json
  for (const email of emails) ok(await admin.post(`/groups/${id}/members`, { email }), 201)
  return id
}

export async function addGroup(
  owner: Client,
  share: string,
  id: string,
  permissions: readonly string[],
): Promise<void> {
  ok(await owner.post(`/shares/${share}/groups`, { id, permissions }), 201)
}

/** The path of a Location header, decoded, after a check that it is absolute and of the version asked for. */
export function locationOf(server: TestServer, answer: Answer, version = CURRENT): string {
  const prefix = `${server.origin}/api/v${version}`
  const location = String(answer.headers['location'])
  expect(location.startsWith(`${prefix}/`), location).toBe(true)
  return decodeURIComponent(location.slice(prefix.length))
}

/** Nothing that `starling check` could complain about. */
export async function expectSound(server: TestServer): Promise<void> {
  expect(await server.command('check')).toMatchObject({ status: 0, stdout: 'no broken invariant\n' })
}
