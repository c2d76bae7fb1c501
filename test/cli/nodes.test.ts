import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addNodeUse, ensureNode, registerMember } from '../../src/db/nodes.js'
import { ENGINES } from '../support/engines.js'
import { startServer, type TestServer } from '../support/server.js'
import { expectRefusal, printedJson } from './support.js'

interface Listed {
  readonly id: string
  readonly state: string
  readonly name: string
  readonly address: string
}

describe.each(ENGINES)('the nodes of an installation on %s', (engine) => {
  let server: TestServer
  const gone = 'ab'.repeat(16)

  beforeAll(async () => {
    server = await startServer(engine)
    await server.installation.db.write((tx) => ensureNode(tx, gone, Date.now()))
  })
  afterAll(() => server.stop())

  const list = async (): Promise<Listed[]> =>
    printedJson<Listed[]>(await server.command('node', 'list', '--json'))
  const stateOf = async (id: string): Promise<string | undefined> =>
    (await list()).find((node) => node.id === id)?.state

  test('are listed with what they are and whether they live', async () => {
    const own = server.installation.nodeId
    const [first] = await list()
    expect(first).toMatchObject({ id: own, state: 'alive', address: server.origin })
    expect(await stateOf(gone)).toBe('stopped')
    const text = (await server.command('node', 'list')).stdout
    expect(text).toContain(`${own}  alive`)
    expect(await server.terminate()).toBe(0)
    expect(await stateOf(own)).toBe('stopped')
    await server.restart()
    expect(await stateOf(own)).toBe('alive')
  })

  test('that fell silent are gone, and can be removed with what they counted kept', async () => {
    const { db, nodeId } = server.installation
    const facts = {
      name: 'lost',
      address: 'https://lost.test',
      startedMs: 1,
      aliveUntilMs: Date.now() + 60_000,
    }
    await db.write(async (tx) => {
      await registerMember(tx, gone, facts)
      await addNodeUse(tx, gone, 7)
      await addNodeUse(tx, nodeId, -7)
    })
    expectRefusal(await server.command('node', 'remove', gone), 1, /alive/)
    expectRefusal(await server.command('node', 'remove', nodeId), 1, /itself/)
    expectRefusal(await server.command('node', 'remove', 'cd'.repeat(16)), 1, /no node/)
    await db.write((tx) => registerMember(tx, gone, { ...facts, aliveUntilMs: 1 }))
    expect(await stateOf(gone)).toBe('gone')
    expect(printedJson(await server.command('node', 'remove', gone, '--json'))).toEqual({ removed: gone })
    expect(await stateOf(gone)).toBeUndefined()
    expect((await server.command('check')).stdout).toBe('no broken invariant\n')
  })
})
