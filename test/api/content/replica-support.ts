/** What the tests of local copies share. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { check } from '../../../src/service/check.js'
import { printedJson } from '../../cli/support.js'
import type { Answer, Client } from '../../support/client.js'
import type { TestServer } from '../../support/server.js'
import { eventually, expectBytes } from './support.js'

const PATIENCE_MS = 90_000

/** A transfer takes longer than what a node does by itself. */
export const until = (check: () => Promise<unknown>): Promise<void> => eventually(check, PATIENCE_MS)

export async function fileOf(api: Client, id: string): Promise<Answer['json']> {
  return (await api.get(`/files/${id}`)).json
}

/** The state that the file itself, the list of its folder and the on-demand field agree on, with the fields that go with it. */
export async function stateOf(api: Client, id: string): Promise<string> {
  for (;;) {
    const file = await fileOf(api, id)
    const listing = await api.get(`/folders/${file.parent}/children`)
    const folder = await api.get(`/folders/${file.parent}?fields=children`)
    const [listed, included] = [
      listing.json['files'],
      (folder.json['children'] as Record<string, unknown>)['files'],
    ].map((files) => (files as Answer['json'][]).find((one) => one.id === id))
    // The transfer may have come to its end between two questions.
    if ((await fileOf(api, id))['content_state'] !== file['content_state']) continue
    for (const view of [listed, included]) {
      expect(view?.['content_state']).toBe(file['content_state'])
      expect(view?.['size']).toBe(file['size'])
    }
    const state = String(file['content_state'])
    expect('size' in file && 'last_modified' in file).toBe(state === 'AVAILABLE')
    expect('size' in file || 'last_modified' in file).toBe(state === 'AVAILABLE')
    return state
  }
}

export async function expectContent(api: Client, id: string, content: Buffer): Promise<void> {
  const answer = await api.get(`/files/${id}/content`)
  expect(`${answer.status} ${answer.status === 200 ? '' : answer.text}`).toBe('200 ')
  expect(answer.isCut).toBe(false)
  expectBytes(answer.body, content)
}

/** The whole copies in the folder, by their paths. */
export async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(join(folder, 'files'), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile() && /^[0-9a-f]{64}\./.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
}

export interface NodeShown {
  readonly used: number
  readonly deselected: string[]
  readonly replica?: Readonly<Record<string, unknown>>
}

/** The invariants that are broken, as `starling check` on the node finds them. */
export async function findingsOf(server: TestServer): Promise<string[]> {
  const { db, nodeId, parts } = server.installation
  const found: string[] = []
  for await (const { invariant } of check({ ...parts, db, nodeId })) found.push(invariant)
  return found
}

export async function nodeShown(server: TestServer): Promise<NodeShown> {
  return printedJson<NodeShown>(await server.command('node', 'show', '--json'))
}
