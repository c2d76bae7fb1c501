import { fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { existsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startCheckpointer } from '../../src/db/checkpointer.js'
import { OutcomeUnknown, type Db, type Tx } from '../../src/db/db.js'
import { openSqlite } from '../../src/db/sqlite.js'

describe('the SQLite driver', () => {
  let dataDir: string
  let file: string
  let logged: string[]
  const opened: Db[] = []

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'starling-test-'))
    file = join(dataDir, 'starling.db')
    logged = []
  })

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((db) => db.close()))
    await rm(dataDir, { recursive: true, force: true })
  })

  async function open(sync?: () => Promise<void>): Promise<Db> {
    const log = (message: string): unknown => logged.push(message)
    const db = await openSqlite(sync === undefined ? { file, log } : { file, log, sync })
    opened.push(db)
    return db
  }
  const createTable = (tx: Tx): Promise<number> =>
    tx.run('CREATE TABLE counters (name TEXT PRIMARY KEY, value BIGINT, fill BLOB)')
  const insert =
    (name: string, fill: Buffer | null = null) =>
    (tx: Tx) =>
      tx.run('INSERT INTO counters VALUES ($1, 0, $2)', name, fill)
  const names = (db: Db): Promise<unknown[]> =>
    db.read(async (tx) =>
      (await tx.all<{ name: string }>('SELECT name FROM counters ORDER BY name')).map((row) => row.name),
    )

  it('lets processes write the same file at the same time, with no update lost and no lock surfacing', async () => {
    const db = await open()
    await db.write(createTable)
    await db.write(insert('main'))
    const processes = Array.from({ length: 3 }, () => runProcess('increment', file, '400'))
    const own = Array.from({ length: 400 }, () =>
      db.write((tx) => tx.run('UPDATE counters SET value = value + 1 WHERE name = $1', 'main')),
    )
    await Promise.all([...processes, ...own])
    expect(await db.read((tx) => tx.get('SELECT value FROM counters'))).toEqual({ value: 1600 })
  })

  it('opens, writes and closes in several processes at once', async () => {
    await Promise.all(Array.from({ length: 4 }, () => runProcess('reopen', file, '15')))
    const db = await open()
    expect(await db.read((tx) => tx.get('SELECT COUNT(*) AS total FROM visits'))).toEqual({ total: 60 })
  })

  it('undoes what a failed body changed and nothing else, and runs the others of its group again in their order', async () => {
    const db = await open()
    await db.write(createTable)
    const runs: string[] = []
    const write = (name: string, body: (tx: Tx) => Promise<unknown>): Promise<unknown> =>
      db.write((tx) => {
        runs.push(name)
        return body(tx)
      })
    const settled = await Promise.allSettled([
      write('a', insert('a')),
      write('b', async (tx) => {
        await insert('b')(tx)
        throw new Error('no')
      }),
      write('c', async (tx) => insert(`c after ${(await tx.all('SELECT name FROM counters')).length}`)(tx)),
      write('d', async (tx) => {
        await tx.get('SELECT name FROM counters')
        throw new Error('never')
      }),
      write('e', insert('e')),
    ])
    expect(settled.map(({ status }) => status === 'fulfilled')).toEqual([true, false, true, false, true])
    expect(await names(db)).toEqual(['a', 'c after 1', 'e'])
    expect(runs.join('')).toBe('ababcde')
  })

  it('acknowledges a write only after a sync that began after its commit', async () => {
    const syncs: (() => void)[] = []
    let isHeld = false
    const db = await open(() => (isHeld ? new Promise((resolve) => syncs.push(resolve)) : Promise.resolve()))
    await db.write(createTable)
    isHeld = true
    const events: string[] = []
    const write = (name: string): Promise<unknown> =>
      db
        .write(async (tx) => {
          tx.afterCommit(() => events.push(`effect ${name}`))
          await insert(name)(tx)
        })
        .then(() => events.push(name))

    const first = write('a')
    await until(() => syncs.length === 1)
    const second = write('b')
    const third = write('c')
    await until(async () => (await names(db)).length === 3)
    expect(events).toEqual([])
    syncs.shift()?.()
    await first
    await until(() => syncs.length === 1)
    expect(events).toEqual(['effect a', 'a'])
    syncs.shift()?.()
    await Promise.all([second, third])
    expect(events).toEqual(['effect a', 'a', 'effect b', 'effect c', 'b', 'c'])
  })

  it('rejects every unacknowledged write when a sync fails, and goes on after a checkpoint', async () => {
    let fails = 0
    const db = await open(() => {
      if (fails === 0) return Promise.resolve()
      fails -= 1
      return delay(5).then(() =>
        Promise.reject(Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' })),
      )
    })
    await db.write(createTable)
    fails = 1
    const doomed = await Promise.allSettled(['a', 'b', 'c'].map((name) => db.write(insert(name))))
    expect(doomed.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    await db.write(insert('d'))
    expect(await names(db)).toContain('d')
    expect(logged.join('\n')).toMatch(/could not be synced: Error: EIO[\s\S]*in order again/)
  })

  it('takes no writes after a failed sync for as long as the checkpoint is kept from finishing', async () => {
    let fails = 0
    const db = await open(() => (fails-- > 0 ? Promise.reject(new Error('EIO')) : Promise.resolve()))
    await db.write(createTable)
    let release: () => void = () => undefined
    const gate = new Promise<void>((resolve) => (release = resolve))
    const reader = db.read(async (tx) => {
      await tx.all('SELECT name FROM counters')
      await gate
    })
    fails = 1
    await expect(db.write(insert('a'))).rejects.toThrow(OutcomeUnknown)
    await expect(db.write(insert('b'))).rejects.toMatchObject({ kind: 'unavailable' })
    release()
    await reader
    await until(() => logged.some((message) => message.includes('in order again')))
    await db.write(insert('c'))
    expect(await names(db)).toEqual(['a', 'c'])
  })

  it('answers a full disk with a failure of its own and keeps the other writes of the group', async () => {
    const db = await open()
    await db.write(createTable)
    await db.write((tx) => tx.get('PRAGMA max_page_count = 40'))
    const settled = await Promise.allSettled([
      db.write(insert('a')),
      db.write(insert('big', Buffer.alloc(1_000_000))),
      db.write(insert('b')),
    ])
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(settled[1]).toMatchObject({ reason: { kind: 'insufficientStorage' } })
    expect(await names(db)).toEqual(['a', 'b'])
  })

  it('does not call a full disk at the sync a refusal, since the change may be there', async () => {
    let isFull = false
    const db = await open(() =>
      isFull ? Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' })) : Promise.resolve(),
    )
    await db.write(createTable)
    isFull = true
    await expect(db.write(insert('a'))).rejects.toThrow(OutcomeUnknown)
    isFull = false
    await db.write(insert('b'))
    expect(await names(db)).toEqual(['a', 'b'])
  })

  it('runs the others of a group again when SQLite gives up the whole transaction', async () => {
    const db = await open()
    await db.write(createTable)
    let runs = 0
    const settled = await Promise.allSettled([
      db.write((tx) => {
        runs += 1
        return insert('a')(tx)
      }),
      db.write((tx) => tx.run('ROLLBACK').then(() => Promise.reject(new Error('gave up')))),
      db.write(insert('b')),
    ])
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(runs).toBe(2)
    expect(await names(db)).toEqual(['a', 'b'])
  })

  it('keeps the log small with a checkpointer, while it is read and written', async () => {
    const db = await open()
    await db.write(createTable)
    const messages: string[] = []
    const log = (message: string): unknown => messages.push(message)
    const checkpointer = startCheckpointer(dataDir, {
      intervalMs: 20,
      passiveBytes: 100_000,
      restartBytes: 1_000_000,
      log,
    })
    let largestBytes = 0
    for (let index = 0; index < 300; index++) {
      await db.write(insert(`row${index}`, Buffer.alloc(60_000)))
      largestBytes = Math.max(largestBytes, statSync(`${file}-wal`).size)
      if (index % 10 === 0) await delay(5)
    }
    await checkpointer.stop()
    expect(messages).toEqual([])
    expect(largestBytes).toBeLessThan(10_000_000)
    expect(await names(db)).toHaveLength(300)
  })

  it('leaves one plain file behind when the last connection closes', async () => {
    const db = await open()
    await db.write(createTable)
    await db.close()
    expect([existsSync(file), existsSync(`${file}-wal`)]).toEqual([true, false])
  })
})

const CONDITION_WAIT_MAX_MS = 40_000

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + CONDITION_WAIT_MAX_MS
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`still not true: ${condition.toString()}`)
    await delay(2)
  }
}

/** Runs sqlite-process.ts in a real process; rejects with what it wrote to its error output if it fails. */
function runProcess(...args: string[]): Promise<void> {
  const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
  const execArgv = ['--import', path('../support/typescript.js')]
  const child = fork(path('./sqlite-process.ts'), args, {
    execArgv,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let errors = ''
  child.stderr?.on('data', (chunk) => (errors += String(chunk)))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`exit ${code}: ${errors}`))))
  })
}
