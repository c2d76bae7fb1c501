import { verify } from '@node-rs/argon2'
import { expect, test } from 'vitest'
import { pooledHasher } from '../../src/service/hasher.js'
import { passwordQueue } from '../../src/service/password-queue.js'

/** Work that ends when it is told to. */
function work(): { run: () => Promise<string>; end: () => void; hasBegun: () => boolean } {
  let hasBegun = false
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => (end = resolve))
  return {
    run: async () => {
      hasBegun = true
      await ended
      return 'done'
    },
    end,
    hasBegun: () => hasBegun,
  }
}

test('works on so many passwords at once, in the order in which they came, and refuses more than may wait', async () => {
  const queue = passwordQueue(pooledHasher(), { waitingMax: 2 })
  const works = [work(), work(), work()]
  const results = works.map((one) => queue.run(one.run))
  await expect(queue.run(work().run)).rejects.toMatchObject({ kind: 'unavailable' })
  expect(works.map((one) => one.hasBegun())).toEqual([true, false, false])
  for (const [index, one] of works.entries()) {
    one.end()
    expect(await results[index]).toBe('done')
    await new Promise((resolve) => setImmediate(resolve))
    expect(works.map((other) => other.hasBegun())).toEqual(works.map((_, at) => at <= index + 1))
  }
})

test('goes on after work that failed', async () => {
  const queue = passwordQueue(pooledHasher(), { waitingMax: 1 })
  await expect(queue.run(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(await queue.run(() => Promise.resolve(1))).toBe(1)
})

test('refuses a password that is too short before it waits for anybody', async () => {
  const queue = passwordQueue(pooledHasher(), { waitingMax: 0 })
  const busy = work()
  const running = queue.run(busy.run)
  await expect(queue.hash('short', 8)).rejects.toMatchObject({ kind: 'badArgs' })
  await expect(queue.hash('long enough', 8)).rejects.toMatchObject({ kind: 'unavailable' })
  busy.end()
  await running
  expect(await verify(await queue.hash('long enough', 8), 'long enough')).toBe(true)
})
