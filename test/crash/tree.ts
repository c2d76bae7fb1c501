/** What a client knows of its part of the tree, and what an operation makes of it. */
import { seededBytes, hashOf } from './random.js'

/** Bytes named by a seed, so that a ledger stays small. An upload that was rewound goes on with bytes of other seeds. */
export interface Content {
  seed: number
  size: number
  later?: readonly { from: number; seed: number }[]
}

export function bytesOf({ seed, size, later = [] }: Content): Buffer {
  const bytes = seededBytes(seed, size)
  for (const part of later) seededBytes(part.seed, size).copy(bytes, part.from, part.from)
  return bytes
}

/** The same bytes up to a place, and new ones from there on. */
export function changedFrom({ seed, size, later = [] }: Content, from: number, newSeed: number): Content {
  return { seed, size, later: [...later.filter((part) => part.from < from), { from, seed: newSeed }] }
}

export interface Thing {
  kind: 'folder' | 'file'
  /** Missing while the answer that would tell it is missing. */
  id: string | undefined
  parent: number
  name: string
  content: Content | undefined
}

export interface Upload {
  file: number
  id: string
  content: Content
  received: number
}

/** Things and uploads by a number that the client gives them; 0 is the client's home folder. */
export interface Tree {
  things: Map<number, Thing>
  uploads: Map<number, Upload>
}

export type Operation =
  | { verb: 'folder'; thing: number; parent: number; name: string }
  | { verb: 'file'; thing: number; parent: number; name: string }
  | { verb: 'put'; thing: number; content: Content }
  | {
      verb: 'chunk'
      upload: number
      thing: number
      content: Content
      first: number
      end: number
      knowsTotal: boolean
    }
  | { verb: 'move'; thing: number; parent: number; name: string }
  | { verb: 'delete'; thing: number }

/** What an answer tells beside "done". */
export interface Outcome {
  id?: string
  uploadId?: string
}

export function homeTree(id: string): Tree {
  const home: Thing = { kind: 'folder', id, parent: 0, name: '', content: undefined }
  return { things: new Map([[0, home]]), uploads: new Map() }
}

/** The tree after the operation; the given one stays as it is. */
export function apply(tree: Tree, operation: Operation, outcome: Outcome): Tree {
  const after = structuredClone(tree)
  const { things, uploads } = after
  if (operation.verb === 'folder' || operation.verb === 'file') {
    const { verb, thing, parent, name } = operation
    things.set(thing, { kind: verb, id: outcome.id, parent, name, content: undefined })
  } else if (operation.verb === 'put') {
    known(after, operation.thing).content = operation.content
  } else if (operation.verb === 'chunk') {
    applyChunk(after, operation, outcome)
  } else if (operation.verb === 'move') {
    Object.assign(known(after, operation.thing), { parent: operation.parent, name: operation.name })
  } else {
    const gone = new Set([...things.keys()].filter((thing) => isWithin(tree, thing, operation.thing)))
    for (const thing of gone) things.delete(thing)
    for (const [number, upload] of uploads) if (gone.has(upload.file)) uploads.delete(number)
  }
  return after
}

function applyChunk(after: Tree, operation: Operation & { verb: 'chunk' }, outcome: Outcome): void {
  const { upload, thing, content, end } = operation
  if (completes(operation)) {
    known(after, thing).content = content
    after.uploads.delete(upload)
    return
  }
  const id = after.uploads.get(upload)?.id ?? outcome.uploadId
  if (id !== undefined) after.uploads.set(upload, { file: thing, id, content, received: end })
}

export function completes(operation: Operation): boolean {
  return operation.verb === 'chunk' && operation.end === operation.content.size
}

export function known(tree: Tree, thing: number): Thing {
  const found = tree.things.get(thing)
  if (found === undefined) throw new Error(`thing ${thing} is not in the tree`)
  return found
}

export function isWithin(tree: Tree, thing: number, ancestor: number): boolean {
  for (let at = thing; ; at = known(tree, at).parent) {
    if (at === ancestor) return true
    if (at === 0) return false
  }
}

/** One line for each thing below the home folder, by path: what a reader of the API would see. */
export interface Seen {
  kind: 'folder' | 'file'
  id: string | undefined
  hash: string | undefined
}

export type Snapshot = Map<string, Seen>

export function snapshotOf(tree: Tree): Snapshot {
  const snapshot: Snapshot = new Map()
  for (const [number, { kind, id, content }] of tree.things) {
    if (number !== 0)
      snapshot.set(pathOf(tree, number), {
        kind,
        id,
        hash: content === undefined ? undefined : contentHash(content),
      })
  }
  return snapshot
}

const hashes = new Map<string, string>()

function contentHash(content: Content): string {
  const key = JSON.stringify(content)
  const hash = hashes.get(key) ?? hashOf(bytesOf(content))
  hashes.set(key, hash)
  return hash
}

export function pathOf(tree: Tree, thing: number): string {
  const { parent, name } = known(tree, thing)
  return parent === 0 ? `/${name}` : `${pathOf(tree, parent)}/${name}`
}

/** The differences between what must be there and what is; none when they agree. An unknown id agrees with any. */
export function differences(expected: Snapshot, seen: Snapshot): string[] {
  const found: string[] = []
  for (const [path, want] of expected) {
    const have = seen.get(path)
    if (have === undefined) found.push(`${path}: missing ${want.kind}`)
    else if (have.kind !== want.kind) found.push(`${path}: a ${have.kind} in place of a ${want.kind}`)
    else if (want.id !== undefined && have.id !== want.id) found.push(`${path}: another id`)
    else if (have.hash !== want.hash)
      found.push(
        `${path}: ${have.hash === undefined ? 'no content' : 'other content'} where ${want.hash === undefined ? 'none' : 'acknowledged content'} must be`,
      )
  }
  for (const path of seen.keys()) if (!expected.has(path)) found.push(`${path}: must not be there`)
  return found
}
