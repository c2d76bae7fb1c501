import { readdir, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { copyBlob, removeOthers } from '../../src/blob/backup.js'
import { fileOf, openDiskStore } from '../../src/blob/disk.js'
import { hashOf } from '../../src/blob/hashing.js'
import { holdRemoved } from '../../src/blob/held.js'
import type { BlobStore } from '../../src/blob/store.js'
import { temporaryDirectories } from './temporary.js'

const directory = temporaryDirectories()

async function storeWith(...texts: string[]): Promise<{ root: string; store: BlobStore; places: string[] }> {
  const root = join(await directory(), 'blobs')
  const store = await openDiskStore(root)
  const places: string[] = []
  for (const text of texts) {
    const staged = join(await directory(), 'staged')
    await writeFile(staged, text)
    places.push(await store.put(staged, hashOf(Buffer.from(text)), Buffer.byteLength(text)))
  }
  return { root, store, places }
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

describe('blobs that are removed while a backup is made', () => {
  it('are set aside, can be copied, and are gone when the backup is over', async () => {
    const { root, store, places } = await storeWith('one', 'two')
    const [one = '', two = ''] = places
    const hold = await holdRemoved(root)
    await store.remove(one)
    await expect(store.open(one)).rejects.toThrow()
    const target = join(await directory(), 'copy')
    expect(await copyBlob(root, hold, target, one)).toBe('copied')
    expect(await copyBlob(root, hold, target, two)).toBe('copied')
    expect(await copyBlob(root, hold, target, two)).toBe('there already')
    await hold.release()
    expect((await readdir(root)).filter((name) => name.startsWith('held'))).toEqual([])
    expect(await copyBlob(root, hold, join(await directory(), 'other'), one)).toBe('missing')
    const copy = await openDiskStore(target)
    for (const place of places) expect((await copy.open(place)).size).toBe(3)
    expect(await removeOthers(target, (place) => place === two)).toBe(1)
    expect([await isThere(fileOf(target, one)), await isThere(fileOf(target, two))]).toEqual([false, true])
  })

  it('go at once when no backup is made, and may be gone already', async () => {
    const { root, store, places } = await storeWith('one')
    const [one = ''] = places
    await store.remove(one)
    await store.remove(one)
    expect(await isThere(fileOf(root, one))).toBe(false)
    const hold = await holdRemoved(root)
    await store.remove(one)
    await hold.release()
  })

  it('are not listed, and go with the sweep when the backup has died, but not before', async () => {
    const { root, store, places } = await storeWith('one')
    const hold = await holdRemoved(root)
    await store.remove(places[0] ?? '')
    for await (const { place } of store.list()) expect.unreachable(`${place} is listed`)
    const hourAgoMs = Date.now() - 3_600_000
    expect(await store.endUnfinished(hourAgoMs)).toBe(0)
    expect(await isThere(hold.fileOf(places[0] ?? ''))).toBe(true)
    const long = new Date(hourAgoMs - 1000)
    await utimes(join(root, 'held', 'pulse'), long, long)
    expect(await store.endUnfinished(hourAgoMs)).toBe(1)
    expect(await isThere(join(root, 'held'))).toBe(false)
    expect(await store.endUnfinished(hourAgoMs)).toBe(0)
    await hold.release()
  })
})
