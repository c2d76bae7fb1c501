import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openSignals, type Signals } from '../../src/db/signals.js'
import { dropDatabase, emptyDatabaseUrl } from '../support/engines.js'

describe('signals between the nodes of one PostgreSQL', () => {
  let url: string
  beforeAll(async () => {
    url = (await emptyDatabaseUrl('postgres')) ?? ''
  })
  afterAll(() => dropDatabase(url))

  async function open(sender: string): Promise<{ signals: Signals; heard: string[] }> {
    const heard: string[] = []
    const signals = openSignals({
      url,
      sender,
      onMessage: (message) => void heard.push(message),
      log: () => undefined,
    })
    onTestFinished(() => signals.close())
    await expect.poll(() => signals.isConnected, { timeout: 40_000 }).toBe(true)
    return { signals, heard }
  }

  async function breakConnections(): Promise<void> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'starling signals' AND datname = current_database()`,
    )
    await client.end()
  }

  it('reach every other node, in order, and never the one that sent them', async () => {
    const first = await open('01')
    const second = await open('02')
    const third = await open('03')
    for (let count = 0; count < 50; count += 1) first.signals.send(`change ${count}`)
    second.signals.send('last\nline')
    const sent = Array.from({ length: 50 }, (_, count) => `change ${count}`)
    await expect.poll(() => third.heard.length, { timeout: 40_000 }).toBe(51)
    expect(third.heard.filter((message) => message !== 'last\nline')).toEqual(sent)
    await expect.poll(() => second.heard, { timeout: 40_000 }).toEqual(sent)
    expect(first.heard).toEqual(['last\nline'])
  })

  it('come again after the connection was lost; what was said meanwhile is lost', async () => {
    const first = await open('01')
    const second = await open('02')
    await breakConnections()
    await expect
      .poll(() => first.signals.isConnected && second.signals.isConnected, { timeout: 40_000 })
      .toBe(true)
    await expect
      .poll(
        async () => {
          first.signals.send('again')
          await delay(50)
          return second.heard.includes('again')
        },
        { timeout: 40_000 },
      )
      .toBe(true)
  })

  it('from anybody who does not speak as we do are not heard', async () => {
    const { heard } = await open('01')
    const other = await open('02')
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    for (const payload of ['', 'x', 'ZZ hello', '02'])
      await client.query('SELECT pg_notify($1, $2)', ['starling', payload])
    await client.end()
    other.signals.send('end')
    await expect.poll(() => heard, { timeout: 40_000 }).toEqual(['end'])
  })

  it('are dropped quietly while nobody can be reached', async () => {
    const nowhere = openSignals({
      url: 'postgres://postgres@127.0.0.1:1/nobody',
      sender: '01',
      onMessage: () => undefined,
      log: () => undefined,
    })
    nowhere.send('x')
    expect(nowhere.isConnected).toBe(false)
    await nowhere.close()
  })
})
