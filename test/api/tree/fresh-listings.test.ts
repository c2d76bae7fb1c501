import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'

interface Listed {
  folders: { name: string }[]
  files: { name: string; size?: number; content_state: string }[]
}

const FILES = 40
const LOOKS = 8

describe.each(ENGINES)('a long list of children on %s', (engine) => {
  let server: TestServer
  let api: Client
  let folder: string
  let ids: string[]

  beforeAll(async () => {
    server = await startServer(engine, { workers: 2 })
    api = (await server.person()).api
    folder = await api.folder('long')
    ids = []
    for (let number = 0; number < FILES; number += 1) ids.push(await api.file(`file ${number}`, folder, 'x'))
  })
  afterAll(() => server.stop())

  /** Looks at once over several connections, so that every process of the node is asked; all must agree. */
  async function list(): Promise<Listed> {
    const looks = Array.from({ length: LOOKS }, () => api.get(`/folders/${folder}/children`))
    const answers = (await Promise.all(looks)).map((answer) => answer.text)
    expect(new Set(answers).size).toBe(1)
    return JSON.parse(answers[0] ?? '') as Listed
  }

  const names = (listed: Listed): string[] => listed.files.map((file) => file.name)

  it('shows each change to every process as soon as its answer has arrived [CHILD-22]', async () => {
    const [first = '', second = '', third = ''] = ids
    expect(names(await list())).toHaveLength(FILES)
    const made = await api.folder('a folder', folder)
    expect((await list()).folders.map(({ name }) => name)).toEqual(['a folder'])
    await api.put(`/files/${first}`, { name: 'renamed' })
    expect(names(await list())).toContain('renamed')
    await api.upload(first, 'longer content')
    expect((await list()).files.find(({ name }) => name === 'renamed')?.size).toBe(14)
    await api.put(`/files/${second}`, { parent: made })
    expect(names(await list())).toHaveLength(FILES - 1)
    await api.put(`/files/${second}`, { parent: folder })
    expect(names(await list())).toHaveLength(FILES)
    await api.delete(`/files/${third}`)
    expect(names(await list())).toHaveLength(FILES - 1)
    await api.delete(`/folders/${made}`)
    expect((await list()).folders).toEqual([])
  })

  it('shows what this node holds as it is now, though no row of the folder changed [STATE-5] [STATE-8] [STATE-11] [STATE-12]', async () => {
    await api.file('without content', folder)
    const states = async (): Promise<Set<string>> =>
      new Set((await list()).files.map((file) => file.content_state))
    expect(await states()).toEqual(new Set(['AVAILABLE', 'SYNCING']))
    expect((await server.command('node', 'deselect', folder)).status).toBe(0)
    expect(await states()).toEqual(new Set(['DESELECTED']))
    expect((await server.command('node', 'select', folder)).status).toBe(0)
    expect(await states()).toEqual(new Set(['AVAILABLE', 'SYNCING']))
    expect((await server.command('node', 'capacity', '0')).status).toBe(0)
    expect(await states()).toEqual(new Set(['AVAILABLE', 'INSUFFICIENT_STORAGE']))
    expect((await server.command('node', 'capacity', 'none')).status).toBe(0)
    expect(await states()).toEqual(new Set(['AVAILABLE', 'SYNCING']))
  })
})
