import { randomBytes } from 'node:crypto'
import { mkdir, readdir, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openDiskStore } from '../../src/blob/disk.js'
import { hashOf } from '../../src/blob/hashing.js'
import { verifyBlob } from '../../src/blob/verify.js'
import { describeBlobStore, describeBlobTarget } from './store-suite.js'
import { temporaryDirectories } from './temporary.js'

const directory = temporaryDirectories()

describeBlobStore('disk', async () => openDiskStore(join(await directory(), 'blobs')), directory)
describeBlobTarget('disk', async () => openDiskStore(join(await directory(), 'blobs')), directory)

describe('the folder of the disk store', () => {
  it('is ours alone, and keeps a blob under the first digits of its hash', async () => {
    const root = join(await directory(), 'data', 'blobs')
    const store = await openDiskStore(root)
    const content = randomBytes(10)
    const hash = hashOf(content)
    const staged = join(await directory(), 'staged')
    await writeFile(staged, content)
    const place = await store.put(staged, hash, 10)
    expect((await stat(root)).mode & 0o777).toBe(0o700)
    expect(await readdir(join(root, hash.slice(0, 2), hash.slice(2, 4)))).toEqual([place])
  })

  it('is found again by a new process', async () => {
    const root = join(await directory(), 'blobs')
    const staged = join(await directory(), 'staged')
    await writeFile(staged, 'abc')
    const place = await (await openDiskStore(root)).put(staged, hashOf(Buffer.from('abc')), 3)
    const reader = await (await openDiskStore(root)).open(place)
    expect(reader.size).toBe(3)
    await reader.close()
  })

  it('may hold files of others, which are not listed', async () => {
    const root = join(await directory(), 'blobs')
    const store = await openDiskStore(root)
    await mkdir(join(root, 'ab', 'cd'), { recursive: true })
    await mkdir(join(root, 'lost+found'))
    await writeFile(join(root, 'ab', 'cd', 'note.txt'), 'x')
    for await (const blob of store.list()) expect.unreachable(blob.place)
  })

  it('shows a blob that was cut or changed on disk', async () => {
    const root = join(await directory(), 'blobs')
    const store = await openDiskStore(root)
    const content = randomBytes(5000)
    const hash = hashOf(content)
    const staged = join(await directory(), 'staged')
    await writeFile(staged, content)
    const place = await store.put(staged, hash, 5000)
    const path = join(root, hash.slice(0, 2), hash.slice(2, 4), place)

    const reader = await store.open(place)
    await truncate(path, 4000)
    expect(await verifyBlob(reader, hash, 5000)).toBe('wrong length')
    await writeFile(path, randomBytes(5000))
    expect(await verifyBlob(reader, hash, 5000)).toBe('wrong hash')
    await reader.close()
  })
})
