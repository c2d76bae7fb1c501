/** A client that works on its own folder, keeps a ledger of what was acknowledged, and compares it with the server. */
import { connect, CutConnection, sendJson, type Client, type Reply } from './client.js'
import { hashOf, seededRandom } from './random.js'
import type { Server } from './support.js'
import {
  apply,
  bytesOf,
  changedFrom,
  completes,
  differences,
  homeTree,
  known,
  pathOf,
  snapshotOf,
  type Content,
  type Operation,
  type Outcome,
  type Snapshot,
  type Tree,
  type Upload,
} from './tree.js'
import { workload, type Sizes } from './workload.js'

/** An acknowledged operation, as the ledger keeps it. */
export interface Acknowledged {
  operation: Operation
  outcome: Outcome
  /** The client's port of the connection on which the answer came. */
  port: number
}

export interface Actor {
  readonly name: string
  readonly home: string
  /** What is acknowledged. */
  tree: Tree
  /** The operation whose outcome is unknown. */
  pending: Operation | undefined
  readonly ledger: Acknowledged[]
  /** The one next operation; the answer, after it was entered in the ledger. */
  step(client: Client): Promise<Reply>
}

export async function newActor(
  server: Server,
  token: string,
  name: string,
  seed: number,
  sizes?: Sizes,
): Promise<Actor> {
  const client = connect(server, token)
  const made = await sendJson(client, 'POST', '/folders', { name, parent: 'root' })
  client.close()
  if (made.status !== 201) throw new Error(`the home folder gave ${made.status}: ${made.body.toString()}`)
  const home = String((JSON.parse(made.body.toString()) as { id: string }).id)
  const source = workload(seededRandom(seed), seed, sizes)
  const actor: Actor = {
    name,
    home,
    tree: homeTree(home),
    pending: undefined,
    ledger: [],
    step: async (on) => {
      if (actor.pending !== undefined) throw new Error('the outcome of the last operation is still unknown')
      const operation = source.next(actor.tree)
      actor.pending = operation
      const reply = await perform(on, actor.tree, operation)
      if (reply.status >= 200 && reply.status < 300) {
        const outcome = outcomeOf(operation, reply)
        actor.tree = apply(actor.tree, operation, outcome)
        actor.ledger.push({ operation, outcome, port: reply.port })
        actor.pending = undefined
      }
      return reply
    },
  }
  return actor
}

/** Works until the connection is cut or `goesOn` says no. Every answer must be a success. */
export async function work(
  actor: Actor,
  server: Server,
  token: string,
  goesOn: () => boolean,
  acknowledged: () => void,
): Promise<void> {
  const client = connect(server, token)
  try {
    while (goesOn()) {
      const reply = await actor.step(client)
      if (reply.status >= 300)
        throw new Error(
          `${JSON.stringify(actor.pending)} gave ${reply.status}: ${reply.body.toString().slice(0, 300)}`,
        )
      acknowledged()
    }
  } catch (error) {
    if (!(error instanceof CutConnection)) throw error
  } finally {
    client.close()
  }
}

export function perform(client: Client, tree: Tree, operation: Operation): Promise<Reply> {
  const id = (thing: number): string => known(tree, thing).id ?? 'unknown'
  if (operation.verb === 'folder' || operation.verb === 'file') {
    return sendJson(client, 'POST', `/${operation.verb}s`, {
      name: operation.name,
      parent: id(operation.parent),
    })
  }
  const { kind } = known(tree, operation.thing)
  const path = `/${kind}s/${id(operation.thing)}`
  if (operation.verb === 'move')
    return sendJson(client, 'PUT', path, { name: operation.name, parent: id(operation.parent) })
  if (operation.verb === 'delete') return client.send('DELETE', path)
  const bytes = bytesOf(operation.content)
  if (operation.verb === 'put') return client.send('PUT', `${path}/content`, {}, bytes)
  const { first, end, upload, knowsTotal } = operation
  const total = knowsTotal ? operation.content.size : '*'
  const uploadId = tree.uploads.get(upload)?.id
  const headers = {
    'content-range': `bytes ${first}-${end - 1}/${total}`,
    ...(uploadId === undefined ? {} : { 'upload-id': uploadId }),
  }
  return client.send('PUT', `${path}/content`, headers, bytes.subarray(first, end))
}

function outcomeOf(operation: Operation, reply: Reply): Outcome {
  if (operation.verb === 'folder' || operation.verb === 'file')
    return { id: String((JSON.parse(reply.body.toString()) as { id: string }).id) }
  const uploadId = reply.headers['upload-id']
  if (operation.verb !== 'chunk' || completes(operation)) return {}
  if (typeof uploadId !== 'string') throw new Error('the answer to a chunk has no Upload-ID')
  return { uploadId }
}

/** The faults of the server's view of this client; afterwards the ledger holds what is really there. */
export async function settle(actor: Actor, client: Client): Promise<string[]> {
  const seen = await readSnapshot(client, actor.home)
  if (typeof seen === 'string') return [`${actor.name}: ${seen}`]
  const before = differences(snapshotOf(actor.tree), seen)
  if (before.length > 0) {
    const done = actor.pending === undefined ? undefined : apply(actor.tree, actor.pending, {})
    const after = done === undefined ? ['nothing was under way'] : differences(snapshotOf(done), seen)
    if (done === undefined || after.length > 0) {
      return [
        `${actor.name}: ${before.join('; ')} (with ${JSON.stringify(actor.pending)}: ${after.join('; ')})`,
      ]
    }
    for (const [number, thing] of done.things) if (number !== 0) thing.id = seen.get(pathOf(done, number))?.id
    actor.tree = done
    if (actor.pending !== undefined && completes(actor.pending)) actor.pending = undefined
  }
  const faults: string[] = []
  for (const [number, upload] of actor.tree.uploads)
    faults.push(...(await settleUpload(actor, client, number, upload)))
  actor.pending = undefined
  return faults
}

/**
 * A status query must count every acknowledged byte, and at most those that were sent. While a chunk that begins
 * before the end is under way, either the old bytes are all there or the new ones up to some place.
 */
async function settleUpload(actor: Actor, client: Client, number: number, upload: Upload): Promise<string[]> {
  const path = `/files/${known(actor.tree, upload.file).id}/content`
  const asked = { 'content-range': 'bytes */*', 'upload-id': upload.id, 'content-length': '0' }
  const reply = await client.send('PUT', path, asked)
  const title = `${actor.name}: upload of ${pathOf(actor.tree, upload.file)}`
  const pending =
    actor.pending?.verb === 'chunk' && actor.pending.upload === number ? actor.pending : undefined
  const isUnused = reply.status === 400 && (upload.received === 0 || pending?.first === 0)
  const received = isUnused ? 0 : Number(/^bytes=0-(\d+)$/.exec(String(reply.headers['range']))?.[1]) + 1
  if ((reply.status !== 200 && !isUnused) || Number.isNaN(received)) {
    return [`${title}: status query gave ${reply.status} ${reply.body.toString().slice(0, 200)}`]
  }
  const isOld = received === upload.received
  const isNew = pending !== undefined && received >= pending.first && received <= pending.end
  if (!isOld && !isNew) {
    const range = pending === undefined ? '' : ` or ${pending.first} to ${pending.end}`
    return [`${title}: ${received} bytes counted, ${upload.received}${range} expected`]
  }
  const old = upload.content
  upload.received = received
  if (pending === undefined || !isNew) return []
  upload.content = pending.content
  if (!isOld || received === pending.first) return []
  return finishEither(actor, client, number, old)
}

/** Both the old and the new bytes may be there: only the finished content tells that it is wholly one of them. */
async function finishEither(actor: Actor, client: Client, number: number, old: Content): Promise<string[]> {
  const upload = actor.tree.uploads.get(number)
  if (upload === undefined) return []
  const { file, content, received } = upload
  const faults = await finishUpload(actor, client, number)
  if (faults.length > 0) return faults
  const reply = await client.send('GET', `/files/${known(actor.tree, file).id}/content`)
  if (reply.body.equals(bytesOf(content))) return []
  const tail = content.later?.at(-1)?.seed ?? content.seed
  const other = changedFrom(old, received, tail)
  known(actor.tree, file).content = other
  return reply.body.equals(bytesOf(other))
    ? []
    : [`${actor.name}: a rewound upload holds a mixture of old and new bytes`]
}

/** Finishes every upload under way; a later `settle` compares the bytes. */
export async function finishUploads(actor: Actor, client: Client): Promise<string[]> {
  const faults: string[] = []
  for (const number of [...actor.tree.uploads.keys()])
    faults.push(...(await finishUpload(actor, client, number)))
  return faults
}

async function finishUpload(actor: Actor, client: Client, number: number): Promise<string[]> {
  const upload = actor.tree.uploads.get(number)
  if (upload === undefined) return []
  const { file, id, content, received } = upload
  const total = content.size
  const path = `/files/${known(actor.tree, file).id}/content`
  const rest: Operation = {
    verb: 'chunk',
    upload: number,
    thing: file,
    content,
    first: received,
    end: total,
    knowsTotal: true,
  }
  const reply =
    received === total
      ? await client.send('PUT', path, {
          'content-range': `bytes */${total}`,
          'upload-id': id,
          'content-length': '0',
        })
      : await perform(client, actor.tree, rest)
  if (reply.status !== 204) {
    return [
      `${actor.name}: finishing an upload from ${received} gave ${reply.status} ${reply.body.toString().slice(0, 200)}`,
    ]
  }
  actor.tree = apply(actor.tree, rest, {})
  return []
}

interface ChildList {
  folders: { id: string; name: string }[]
  files: { id: string; name: string; size?: number; content_state?: string }[]
}

/** The part of the tree below a folder as the API shows it, every content read whole; or what went wrong. */
async function readSnapshot(client: Client, home: string): Promise<Snapshot | string> {
  const seen: Snapshot = new Map()
  const waiting = [{ id: home, path: '' }]
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const reply = await client.send('GET', `/folders/${at.id}/children`)
    if (reply.status !== 200)
      return `children of ${at.path || 'the home folder'} gave ${reply.status}: ${reply.body.toString().slice(0, 200)}`
    const children = JSON.parse(reply.body.toString()) as ChildList
    for (const { id, name } of children.folders) {
      seen.set(`${at.path}/${name}`, { kind: 'folder', id, hash: undefined })
      waiting.push({ id, path: `${at.path}/${name}` })
    }
    for (const { id, name, size, content_state: state } of children.files) {
      const content = await client.send('GET', `/files/${id}/content`)
      const path = `${at.path}/${name}`
      if (content.status !== 200 && content.status !== 404)
        return `content of ${path} gave ${content.status}: ${content.body.toString().slice(0, 200)}`
      const isThere = content.status === 200
      if (isThere !== (state === 'AVAILABLE'))
        return `content of ${path} is ${state} and gave ${content.status}`
      if (isThere && size !== content.body.length)
        return `content of ${path} has ${content.body.length} bytes, size says ${size}`
      seen.set(path, { kind: 'file', id, hash: isThere ? hashOf(content.body) : undefined })
    }
  }
  return seen
}
