import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { openStaging } from '../../src/blob/staging.js'
import { SWEEP_GRACE_MS } from '../../src/service/sweep.js'

describe('a body that trickles in', () => {
  let directory: string | undefined

  afterEach(async () => {
    vi.restoreAllMocks()
    if (directory !== undefined) await rm(directory, { recursive: true })
  })

  it('reaches its file well within the grace time of the sweep, which tells by it that the file is in use', async () => {
    directory = await mkdtemp(join(tmpdir(), 'starling-slow-'))
    const staging = await openStaging(directory)
    const start = Date.now()
    let passedMs = 0
    vi.spyOn(Date, 'now').mockImplementation(() => start + passedMs)
    const name = 'a'.repeat(32)
    const receiver = await staging.receive(name)
    await receiver.write(Buffer.from('one'))
    passedMs = SWEEP_GRACE_MS / 2
    await receiver.write(Buffer.from('two'))
    await sleep(50)
    expect((await readFile(join(directory, name))).toString()).toBe('onetwo')
    await receiver.write(Buffer.from('three'))
    await receiver.sync()
    expect(receiver.length).toBe(11)
    expect((await readFile(join(directory, name))).toString()).toBe('onetwothree')
    await receiver.close()
  })
})
