/** The replayer itself: a disk that loses too little or too much would make the power-loss test worthless. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { replay, type Variant } from './disk.js'
import { seededRandom } from './random.js'
import { newFolder, removeFolders } from './support.js'
import { parseTrace, peerPort } from './trace.js'

afterAll(removeFolders)

const LOST: Variant = { data: 'lost', names: 'lost' }
const KEPT: Variant = { data: 'kept', names: 'kept' }
const hex = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')
const file = (path: string): string => `9<${hex(path)}>`
const text = (content: string): string => `"${hex(content)}"`

/** The folder after a cut behind the first `cut` lines. */
function after(lines: readonly string[], cut: number, variant: Variant): string {
  const base = newFolder()
  writeFileSync(join(base, 'old'), 'old')
  mkdirSync(join(base, 'sub'))
  const target = join(newFolder(), 'data')
  replay(parseTrace(lines.map((line) => `7 ${line}`).join('\n')), '/d', base).rebuild(
    target,
    cut - 0.5,
    variant,
    seededRandom(1),
  )
  return target
}

const read = (folder: string, name: string): string | undefined =>
  existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : undefined

describe('the disk of the power-loss test', () => {
  const upload = [
    `openat(AT_FDCWD</>, ${text('/d/new')}, O_WRONLY|O_CREAT, 0600) = 9`,
    `pwrite64(${file('/d/new')}, ${text('hello')}, 5, 0) = 5`,
    `fdatasync(${file('/d/new')}) = 0`,
    `rename(${text('/d/new')}, ${text('/d/sub/moved')}) = 0`,
    `fsync(9<${hex('/d/sub')}>) = 0`,
  ]

  test('loses what no sync covers and keeps what one does', () => {
    expect(readdirSync(after(upload, 4, LOST)).sort()).toEqual(['old', 'sub'])
    expect(read(after(upload, 5, LOST), 'sub/moved')).toBe('hello')
    expect(read(after(upload, 5, LOST), 'new')).toBeUndefined()
    expect(read(after(upload, 2, KEPT), 'new')).toBe('hello')
    expect(read(after(upload, 4, KEPT), 'sub/moved')).toBe('hello')
  })

  test('empties a file whose name was synced before its bytes', () => {
    const lines = [upload[0] ?? '', upload[1] ?? '', `fsync(9<${hex('/d')}>) = 0`]
    expect(read(after(lines, 3, LOST), 'new')).toBe('')
  })

  test('does not count a sync that began before the write ended or ended after the cut', () => {
    const early = [
      `7 fdatasync(${file('/d/old')} <unfinished ...>`,
      `8 pwrite64(${file('/d/old')}, ${text('new')}, 3, 0) = 3`,
      '7 <... fdatasync resumed>) = 0',
    ]
    const base = newFolder()
    writeFileSync(join(base, 'old'), 'old')
    const target = join(newFolder(), 'data')
    replay(parseTrace(early.join('\n')), '/d', base).rebuild(target, 10, LOST, seededRandom(1))
    expect(read(target, 'old')).toBe('old')
    const late = [`pwrite64(${file('/d/old')}, ${text('new')}, 3, 0) = 3`, `fdatasync(${file('/d/old')}) = 0`]
    expect(read(after(late, 1, LOST), 'old')).toBe('old')
    expect(read(after(late, 2, LOST), 'old')).toBe('new')
  })

  test('brings back what was removed, replaced or cut short without a sync', () => {
    const lines = [`unlink(${text('/d/old')}) = 0`]
    expect(read(after(lines, 1, LOST), 'old')).toBe('old')
    expect(read(after(lines, 1, KEPT), 'old')).toBeUndefined()
    expect(read(after([`ftruncate(${file('/d/old')}, 1) = 0`], 1, LOST), 'old')).toBe('old')
    expect(read(after([`ftruncate(${file('/d/old')}, 1) = 0`], 1, KEPT), 'old')).toBe('o')
  })

  test('follows gathered, appended and partial writes and ignores failed calls', () => {
    const gathered = `[{iov_base=${text('ab')}, iov_len=2}, {iov_base=${text('cd')}, iov_len=2}], 2`
    expect(read(after([`pwritev(${file('/d/old')}, ${gathered}, 1) = 3`], 1, KEPT), 'old')).toBe('oabc')
    const append = [
      `openat(AT_FDCWD</>, ${text('/d/old')}, O_WRONLY|O_APPEND) = 9`,
      `write(${file('/d/old')}, ${text('+')}, 1) = 1`,
    ]
    expect(read(after(append, 2, KEPT), 'old')).toBe('old+')
    expect(
      read(
        after([`pwrite64(${file('/d/old')}, ${text('x')}, 1, 0) = -1 ENOSPC (No space) (INJECTED)`], 1, KEPT),
        'old',
      ),
    ).toBe('old')
  })

  test('keeps whole pages of an unsynced write, and not always all of them', () => {
    const page = 'x'.repeat(4096)
    const lines = [`pwrite64(${file('/d/old')}, ${text(page.repeat(8))}, 32768, 0) = 32768`]
    const content = read(after(lines, 1, { data: 'pages', names: 'kept' }), 'old') ?? ''
    const kept = [...Array(8).keys()].filter(
      (index) => content.slice(index * 4096, (index + 1) * 4096) === page,
    )
    expect(kept.length).toBeGreaterThan(0)
    expect(kept.length).toBeLessThan(8)
  })

  test('knows whose answer a write on a connection is', () => {
    expect(peerPort('23<TCP:[127.0.0.1:44515->127.0.0.1:51874]>, "\\x48"')).toBe(51874)
    expect(peerPort(`9<${hex('/d/old')}>`)).toBeUndefined()
  })
})
