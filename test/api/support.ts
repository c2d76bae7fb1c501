import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import type { TestServer } from '../support/server.js'
import type { Answer } from '../support/client.js'

/** The type that belongs to a status. */
export const TYPES: Readonly<Record<number, string>> = {
  400: 'BAD_ARGS',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'BAD_ARGS',
  409: 'CONFLICT',
  412: 'CONFLICT',
  413: 'BAD_ARGS',
  415: 'BAD_ARGS',
  429: 'TOO_MANY_REQUESTS',
  431: 'BAD_ARGS',
  500: 'INTERNAL_ERROR',
  503: 'INTERNAL_ERROR',
  505: 'BAD_ARGS',
  507: 'INSUFFICIENT_STORAGE',
}

/** The status together with everything that an error object must be. */
export function expectError(
  answer: Pick<Answer, 'status' | 'headers' | 'text' | 'json'>,
  status: number,
  what = '',
): void {
  expect(answer.status, `${what} ${answer.text}`).toBe(status)
  expect(answer.headers['content-type'], what).toMatch(/^application\/json(; charset=utf-8)?$/)
  expect(answer.headers['access-control-allow-origin'], what).toBe('*')
  const body = answer.json as Record<string, unknown>
  expect(body['type'], what).toBe(TYPES[status])
  expect(typeof body['message'], what).toBe('string')
  expect(body['message'], what).not.toBe('')
}

/** The object of a tag without its quotes and its mark of weakness. */
export function opaque(tag: string | undefined): string {
  return /^(?:W\/)?"(.*)"$/.exec(tag ?? '')?.[1] ?? ''
}

/** Well formed and of nobody. */
export function unknownId(): string {
  return randomBytes(32).toString('hex')
}

const TABLES: Readonly<Record<string, string>> = {
  meta: 'key',
  stores: 'sid',
  users: 'id',
  blobs: 'hash',
  objects: 'sid, oid',
  apps: 'id',
  tokens: 'hash',
  sandboxes: 'user_id, app_id',
  nodes: 'id',
  deselections: 'node_id, sid, oid',
  uploads: 'id',
  upload_blocks: 'upload, position',
  shares: 'sid',
  memberships: 'user_id, sid',
  invitations: 'sid, email',
  org_groups: 'id',
  group_members: 'group_id, user_id',
  share_groups: 'sid, group_id',
  invitees: 'email',
  sessions: 'hash',
  codes: 'hash',
  recovery_codes: 'user_id, hash',
  resets: 'hash',
  sign_up_codes: 'hash',
  changes: 'seq',
}

/** What changes by itself: a token notes its last use, a node that it lives and that it has the turn to sweep. */
const NOTES = new Set(['used_ms', 'alive_until_ms'])
const LEASE = /^lease /

/** Everything that is stored, as text: two dumps are equal when nothing was changed between them. */
export async function dump(server: TestServer): Promise<string> {
  const lines = await server.installation.db.read(async (tx) => {
    const parts: string[] = []
    for (const [table, order] of Object.entries(TABLES)) {
      for (const row of await tx.all<Record<string, unknown>>(`SELECT * FROM ${table} ORDER BY ${order}`)) {
        if (table === 'meta' && LEASE.test(String(row['key']))) continue
        const lasting = Object.entries(row).filter(([column]) => !NOTES.has(column))
        parts.push(`${table} ${JSON.stringify(lasting)}`)
      }
    }
    return parts
  })
  return lines.join('\n')
}

/** Runs the requests and fails unless all that is stored is afterwards as it was before. */
export async function unchanged<T>(server: TestServer, body: () => Promise<T>): Promise<T> {
  const before = await dump(server)
  const result = await body()
  expect(await dump(server)).toBe(before)
  return result
}
