/** What the tests of the tree share: refusals as every route sends them, and whole listings to compare. */
import { expect } from 'vitest'
import type { Answer, Client } from '../../support/client.js'

export const VERSIONS = ['1.0', '1.3', '1.4'] as const
export const NEWER_VERSIONS = ['1.3', '1.4'] as const

/** The two kinds of objects, by the collection that they are made in. */
export const KINDS = ['folders', 'files'] as const
export type Kind = (typeof KINDS)[number]

export const ZEROS = '0'.repeat(32)

const TYPES: Readonly<Record<number, string>> = {
  400: 'BAD_ARGS',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'BAD_ARGS',
  409: 'CONFLICT',
  412: 'CONFLICT',
  415: 'BAD_ARGS',
}

/** A refusal with everything that each of them has; `about` says which of several requests it was. */
export function expectRefusal(answer: Answer, status: number, about = ''): void {
  const type = answer.text.startsWith('{') ? answer.json.type : answer.text
  expect({ status: answer.status, type }, about).toEqual({ status, type: TYPES[status] })
  expect(answer.json.message, about).toMatch(/./)
  expect(answer.headers['access-control-allow-origin'], about).toBe('*')
}

export interface Item {
  readonly [key: string]: unknown
  readonly id: string
  readonly name: string
  readonly parent: string
}

export interface Listing {
  readonly folders: readonly Item[]
  readonly files: readonly Item[]
}

/** The children of a folder, by a client of 1.3 or newer. */
export async function listing(api: Client, id = 'root'): Promise<Listing> {
  const answer = await api.get(`/folders/${id}/children`)
  expect(answer.status, answer.text).toBe(200)
  return answer.json as unknown as Listing
}

/** The names of the children, folders before files. */
export async function namesIn(api: Client, id = 'root'): Promise<string[]> {
  const { folders, files } = await listing(api, id)
  return [...folders, ...files].map((item) => item.name)
}

/** The names on the way to an object, from the root down. */
export async function pathNames(api: Client, id: string): Promise<string[]> {
  const answer = await api.get(`/folders/${id}/path`)
  expect(answer.status, answer.text).toBe(200)
  return (answer.json['folders'] as Item[]).map((folder) => folder.name)
}

export interface Branch extends Listing {
  readonly below: readonly Branch[]
}

/** Everything below a folder as the listings tell it. */
export async function wholeTree(api: Client, id = 'root'): Promise<Branch> {
  const children = await listing(api, id)
  const below: Branch[] = []
  for (const folder of children.folders) below.push(await wholeTree(api, folder.id))
  return { ...children, below }
}

/** Does something that must leave no trace in the tree that the client sees. */
export async function withoutChange<T>(api: Client, action: () => Promise<T>): Promise<T> {
  const before = await wholeTree(api)
  const result = await action()
  expect(await wholeTree(api)).toEqual(before)
  return result
}

/** A folder or a file of that name, made by the collection's own route. */
export function make(api: Client, kind: Kind, name: string, parent = 'root'): Promise<string> {
  return kind === 'folders' ? api.folder(name, parent) : api.file(name, parent)
}

/** The id of the user's own root. */
export async function rootOf(api: Client): Promise<string> {
  return (await api.get('/folders/root')).json.id
}

export function tagOf(answer: Answer): string {
  const { etag } = answer.headers
  if (etag === undefined) throw new Error(`no ETag: ${answer.status} ${answer.text}`)
  return etag
}

/** The tag as it stands between the quotes. */
export function opaque(tag: string): string {
  return tag.replace(/^W\//, '').replaceAll('"', '')
}

/** All headers but the one that no two answers need to have in common. */
export function lastingHeaders(answer: Answer): Record<string, unknown> {
  return { ...answer.headers, date: undefined }
}

/** A 304 as every route sends it. */
export function expectUnmodified(answer: Answer, tag: string): void {
  expect(answer.status).toBe(304)
  expect(answer.body).toHaveLength(0)
  expect(tagOf(answer)).toBe(tag)
  for (const name of ['content-length', 'transfer-encoding']) expect(answer.headers).not.toHaveProperty(name)
}
