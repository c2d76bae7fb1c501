/**
 * A disk that may lose power. It is fed with the calls of a trace and says how the folder would look after a cut:
 * only what a finished sync covers is sure; the rest is lost, kept, or kept in part, as the variant says.
 */
import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Random } from './random.js'
import { descriptorPath, isDeleted, lastNumber, stringsOf, writtenBytes, type Call } from './trace.js'

const PAGE_BYTES = 4096

interface Span {
  entry: number
  exit: number
}

type Change = Span & ({ kind: 'write'; offset: number; bytes: Buffer } | { kind: 'truncate'; size: number })

interface Inode {
  isFolder: boolean
  mode: number
  base: Buffer
  changes: Change[]
  syncs: Span[]
  /** Names as the running system sees them; of a folder only. */
  entries: Map<string, Inode>
  /** Names at the beginning. */
  baseEntries: Map<string, Inode>
  /** Where the next write without a position goes. */
  position: number | 'end'
}

/** One atomic change of names; a rename changes two folders in one step, as every journaling file system does. */
interface NameChange extends Span {
  sets: { folder: Inode; name: string; inode: Inode | undefined }[]
}

/** What becomes of data and names that no sync covers. */
export interface Variant {
  data: 'lost' | 'pages' | 'kept'
  names: 'lost' | 'some' | 'kept'
}

export interface Disk {
  /** Writes the folder as it would be after a cut at this place of the order. */
  rebuild(target: string, cut: number, variant: Variant, random: Random): void
}

/** @param folder the traced folder's path; @param base its durable state before the first call */
export function replay(
  calls: readonly Call[],
  folder: string,
  base: string,
  workingFolder = process.cwd(),
): Disk {
  const root = readBase(base)
  const nameChanges: NameChange[] = []
  const inside = (path: string | undefined): string | undefined =>
    path === undefined ? undefined : path === folder || path.startsWith(`${folder}/`) ? path : undefined
  const find = (path: string): Inode | undefined => {
    let at: Inode | undefined = root
    for (const name of path.slice(folder.length).split('/')) if (name !== '') at = at?.entries.get(name)
    return at
  }
  const rename = (span: Span, ...sets: [path: string, inode: Inode | undefined][]): void => {
    const change: NameChange = { entry: span.entry, exit: span.exit, sets: [] }
    for (const [path, inode] of sets) {
      const parent = find(dirname(path))
      if (parent === undefined) throw new Error(`${path} has no folder`)
      if (inode === undefined) parent.entries.delete(basename(path))
      else parent.entries.set(basename(path), inode)
      change.sets.push({ folder: parent, name: basename(path), inode })
    }
    nameChanges.push(change)
  }
  const paths = (call: Call): (string | undefined)[] =>
    stringsOf(call.text).map((bytes) =>
      inside(resolve(descriptorPath(call.text) ?? workingFolder, bytes.toString())),
    )

  for (const call of calls) if (call.result >= 0) feed(call)

  function feed(call: Call): void {
    const span: Span = { entry: call.entry, exit: call.exit }
    const name = call.name.replace(/(at2?|at)$/, '')
    if (
      ['rename', 'link', 'unlink', 'mkdir', 'rmdir', 'symlink', 'open', 'creat', 'truncate'].includes(name)
    ) {
      feedNames(call, span, name)
      return
    }
    const path = isDeleted(call.text) ? undefined : inside(descriptorPath(call.text))
    if (path === undefined) return
    const inode = find(path)
    if (inode === undefined) throw new Error(`${call.name} on ${path}, which the disk does not know`)
    if (call.name === 'fsync' || call.name === 'fdatasync') inode.syncs.push(span)
    else if (call.name === 'ftruncate')
      inode.changes.push({ ...span, kind: 'truncate', size: lastNumber(call.text) })
    else if (call.name === 'pwrite64' || call.name === 'pwritev')
      inode.changes.push({ ...span, kind: 'write', offset: lastNumber(call.text), bytes: writtenBytes(call) })
    else if (call.name === 'write' || call.name === 'writev') {
      const offset = inode.position === 'end' ? liveSize(inode) : inode.position
      const bytes = writtenBytes(call)
      inode.changes.push({ ...span, kind: 'write', offset, bytes })
      if (inode.position !== 'end') inode.position = offset + bytes.length
    } else throw new Error(`the disk does not know ${call.name}`)
  }

  function feedNames(call: Call, span: Span, name: string): void {
    const [from, to] = paths(call)
    const source = from === undefined ? undefined : find(from)
    if (name === 'rename' && from !== undefined && to !== undefined)
      rename(span, [from, undefined], [to, source])
    else if (name === 'link' && from !== undefined && to !== undefined) rename(span, [to, source])
    else if ((name === 'unlink' || name === 'rmdir') && from !== undefined) rename(span, [from, undefined])
    else if (name === 'mkdir' && from !== undefined) rename(span, [from, newInode(true)])
    else if ((name === 'open' || name === 'creat') && from !== undefined) {
      const isMade = source === undefined
      const inode = source ?? newInode(false)
      if (isMade) rename(span, [from, inode])
      if (!inode.isFolder) inode.position = call.text.includes('O_APPEND') ? 'end' : 0
      if (!isMade && call.text.includes('O_TRUNC')) inode.changes.push({ ...span, kind: 'truncate', size: 0 })
    } else if (from !== undefined || to !== undefined)
      throw new Error(`the disk does not know this ${call.name} of ${from} and ${to}`)
  }

  return {
    rebuild: (target, cut, variant, random) => {
      const names = entriesAfterCut(nameChanges, cut, variant, random)
      const write = (inode: Inode, path: string): void => {
        if (!inode.isFolder) {
          writeFileSync(path, bytesAfterCut(inode, cut, variant, random), { mode: inode.mode })
          return
        }
        mkdirSync(path, { recursive: true, mode: inode.mode })
        // The shared-memory file of SQLite is no durable state and is made anew.
        for (const [name, child] of names(inode)) if (!name.endsWith('-shm')) write(child, join(path, name))
      }
      write(root, target)
    },
  }
}

/** Whether a finished sync of one of these inodes covers the change. */
function isSure(change: Span, inodes: readonly Inode[], cut: number): boolean {
  return inodes.some((inode) => inode.syncs.some((sync) => change.exit < sync.entry && sync.exit <= cut))
}

function entriesAfterCut(
  changes: readonly NameChange[],
  cut: number,
  variant: Variant,
  random: Random,
): (folder: Inode) => Map<string, Inode> {
  const begun = changes.filter(({ entry }) => entry < cut)
  const sure = begun.map((change) =>
    isSure(
      change,
      change.sets.map(({ folder }) => folder),
      cut,
    ),
  )
  const unsure = sure.filter((is) => !is).length
  // A journal keeps the order of names, so some of the unsure changes means the first few of them.
  let keep = variant.names === 'lost' ? 0 : variant.names === 'kept' ? unsure : random.between(0, unsure)
  const results = new Map<Inode, Map<string, Inode>>()
  const namesOf = (folder: Inode): Map<string, Inode> => {
    const names = results.get(folder) ?? new Map(folder.baseEntries)
    results.set(folder, names)
    return names
  }
  begun.forEach((change, index) => {
    if (sure[index] !== true && (keep -= 1) < 0) return
    for (const { folder, name, inode } of change.sets) {
      if (inode === undefined) namesOf(folder).delete(name)
      else namesOf(folder).set(name, inode)
    }
  })
  return namesOf
}

function bytesAfterCut(inode: Inode, cut: number, variant: Variant, random: Random): Buffer {
  const begun = inode.changes.filter(({ entry }) => entry < cut)
  const ends = begun.map((change) =>
    change.kind === 'truncate' ? change.size : change.offset + change.bytes.length,
  )
  const bytes = Buffer.alloc(ends.reduce((most, end) => Math.max(most, end), inode.base.length))
  inode.base.copy(bytes)
  let length = inode.base.length
  const write = (offset: number, data: Buffer): void => {
    data.copy(bytes, offset)
    length = Math.max(length, offset + data.length)
  }
  for (const change of begun) {
    const isWhole = variant.data === 'kept' || isSure(change, [inode], cut)
    if (!isWhole && variant.data === 'lost') continue
    if (change.kind === 'truncate') {
      if (!isWhole && random.chance(0.5)) continue
      if (change.size < length) bytes.fill(0, change.size, length)
      length = change.size
    } else if (isWhole) write(change.offset, change.bytes)
    else for (const [at, page] of pagesOf(change)) if (random.chance(0.5)) write(at, page)
  }
  return bytes.subarray(0, length)
}

/** The parts of a write by the pages of the file, which reach the disk each for itself. */
function* pagesOf({ offset, bytes }: { offset: number; bytes: Buffer }): Generator<[number, Buffer]> {
  for (let at = 0; at < bytes.length;) {
    const step = Math.min(bytes.length - at, PAGE_BYTES - ((offset + at) % PAGE_BYTES))
    yield [offset + at, bytes.subarray(at, at + step)]
    at += step
  }
}

function liveSize(inode: Inode): number {
  return inode.changes.reduce(
    (size, change) =>
      change.kind === 'truncate' ? change.size : Math.max(size, change.offset + change.bytes.length),
    inode.base.length,
  )
}

function newInode(isFolder: boolean, mode = isFolder ? 0o700 : 0o600, base = Buffer.alloc(0)): Inode {
  return {
    isFolder,
    mode,
    base,
    changes: [],
    syncs: [],
    entries: new Map(),
    baseEntries: new Map(),
    position: 0,
  }
}

function readBase(path: string): Inode {
  const stat = lstatSync(path)
  if (!stat.isDirectory()) return newInode(false, stat.mode & 0o777, readFileSync(path))
  const folder = newInode(true, stat.mode & 0o777)
  for (const name of readdirSync(path)) folder.entries.set(name, readBase(join(path, name)))
  folder.baseEntries = new Map(folder.entries)
  return folder
}
