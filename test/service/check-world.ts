/** A server's data without the server: filled through the verbs, broken behind their back. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import pg from 'pg'
import { openDiskStore } from '../../src/blob/disk.js'
import { openStaging } from '../../src/blob/staging.js'
import { BUILT_IN_APP } from '../../src/db/apps.js'
import { ensureEpoch } from '../../src/db/changes.js'
import type { Tx } from '../../src/db/db.js'
import { ensureNode } from '../../src/db/nodes.js'
import { SQLITE_FILE_NAME } from '../../src/db/open.js'
import { Sqlite } from '../../src/db/sqlite-library.js'
import type { ObjectRow } from '../../src/db/objects.js'
import type { UserRow } from '../../src/db/users.js'
import { authorize } from '../../src/gate/authorize.js'
import type { Caller } from '../../src/gate/caller.js'
import { ZERO_OID, type ParsedId } from '../../src/model/ids.js'
import { parseScopes } from '../../src/model/scopes.js'
import { V1_3 } from '../../src/model/version.js'
import { accounts } from '../../src/service/accounts.js'
import { check, type Finding } from '../../src/service/check.js'
import { contents } from '../../src/service/contents.js'
import type { ServiceDeps } from '../../src/service/deps.js'
import { COMMAND_LINE } from '../../src/service/journal.js'
import { space } from '../../src/service/space.js'
import { tokens } from '../../src/service/tokens.js'
import { tree } from '../../src/service/tree.js'
import { uploads, type Authorized } from '../../src/service/uploads.js'
import { openTestDb, type Engine } from '../support/engines.js'
import { passwordQueue } from '../../src/service/password-queue.js'

export const NODE = 'node-under-test'

export type World = Awaited<ReturnType<typeof openWorld>>

export async function openWorld(engine: Engine) {
  const test = await openTestDb(engine)
  const { db, dataDir } = test
  const blobs = await openDiskStore(join(dataDir, 'blobs'))
  const staging = await openStaging(join(dataDir, 'staging'))
  const deps: ServiceDeps = {
    nodeId: NODE,
    now: Date.now,
    blobs,
    staging,
    turnstile: { isFull: false, enter: () => Promise.resolve({ leave: () => undefined }) },
    replica: undefined,
    askFor: () => undefined,
    signal: () => undefined,
    diskFreeBytes: () => Number.MAX_SAFE_INTEGER,
    uploadLifetimeMs: 24 * 60 * 60 * 1000,
    quotaBytes: null,
    signUpPolicy: 'invited',
    passwordLengthMin: 8,
    hashing: passwordQueue(),
    directory: undefined,
    publicUrl: undefined,
    complain: (message, error) => {
      throw new Error(message, { cause: error })
    },
  }
  const verbs = tree(deps)
  const uploading = uploads(deps, db, contents(deps, space(deps)))

  await db.write(async (tx) => {
    await ensureEpoch(tx, 'an epoch')
    await ensureNode(tx, NODE, Date.now())
  })

  function addUser(email: string): Promise<UserRow> {
    const user = { email, firstName: 'Ada', lastName: 'L', isAdmin: true, passwordHash: null }
    return db.write(async (tx) => {
      const added = await accounts(deps).add(tx, COMMAND_LINE, user)
      await tokens(deps).issue(tx, COMMAND_LINE, {
        email,
        scope: 'files.read,files.write',
        appId: undefined,
        lifetimeSeconds: undefined,
      })
      return added
    })
  }

  const user = await addUser('ada@example.org')
  const sid = user.root_sid
  const caller = callerOf(user)
  const mode = { canWrite: true, nowMs: Date.now() }
  const at = (oid: string): { id: ParsedId } => ({ id: { sid, oid } })

  function create(kind: 'folder' | 'file', name: string, parent = ZERO_OID): Promise<ObjectRow> {
    return db.write(async (tx) => {
      const grants = await authorize(
        tx,
        caller,
        { parent: { right: 'insert', from: 'id' } },
        at(parent),
        mode,
      )
      return verbs.create(tx, grants.parent, kind, name)
    })
  }

  function authorizedFor(oid: string): Authorized {
    return (body) =>
      db.write(async (tx) => {
        const needs = { file: { right: 'write', kind: 'file', from: 'id' } } as const
        return body(tx, (await authorize(tx, caller, needs, at(oid), mode)).file)
      })
  }

  async function put(oid: string, content: Buffer): Promise<string> {
    const bounds = { exactBytes: undefined, roomBytes: Number.MAX_SAFE_INTEGER }
    const stored = await uploading.whole(authorizedFor(oid), feed(content), bounds)
    if (stored.kind !== 'stored') throw new Error('the content was not stored')
    return stored.hash
  }

  return {
    db,
    deps,
    dataDir,
    sid,
    user,
    blobs,
    staging,
    addUser,
    put,
    folder: (name: string, parent?: string) => create('folder', name, parent),

    async file(name: string, content: Buffer, parent?: string) {
      const { oid } = await create('file', name, parent)
      return { oid, hash: await put(oid, content) }
    },

    emptyFile: (name: string) => create('file', name),

    async remove(oid: string): Promise<void> {
      await db.write(async (tx) => {
        const kind = (
          await tx.get<{ kind: 'file' | 'folder' }>('SELECT kind FROM objects WHERE oid = $1', oid)
        )?.kind
        const needs = { object: { right: 'write', kind: kind ?? 'file', from: 'id' } } as const
        return verbs.remove(tx, (await authorize(tx, caller, needs, at(oid), mode)).object)
      })
    },

    /** Starts an upload and leaves it there. */
    async upload(oid: string, content: Buffer): Promise<{ id: string; staged: string }> {
      const plan = {
        kind: 'chunk',
        first: 0,
        bytes: content.length,
        total: undefined,
        completes: false,
      } as const
      if (content.length === 0) await uploading.begin(authorizedFor(oid))
      else await uploading.firstChunk(authorizedFor(oid), feed(content), plan, Number.MAX_SAFE_INTEGER)
      return db.read(async (tx) => one(await tx.get('SELECT id, staged FROM uploads WHERE oid = $1', oid)))
    },

    /** The folder of the built-in application, as its first use makes it. */
    async sandbox(): Promise<{ oid: string }> {
      const needs = { folder: { right: 'insert', from: 'id' } } as const
      const grants = await db.write((tx) => authorize(tx, caller, needs, { id: { alias: 'appdata' } }, mode))
      return { oid: grants.folder.object.oid }
    },

    placeOf: (hash: string): Promise<string> =>
      db.read(
        async (tx) =>
          one(await tx.get<{ place: string }>('SELECT place FROM blobs WHERE hash = $1', hash)).place,
      ),

    write: <T>(body: (tx: Tx) => Promise<T>): Promise<T> => db.write(body),

    /** Runs statements with the constraints between tables switched off. */
    breakTables: (...statements: string[]) => breakTables(test, statements),

    async findings(options?: { content: boolean }): Promise<Finding[]> {
      const found: Finding[] = []
      const parts = { db, blobs, staging, nodeId: NODE, now: Date.now }
      for await (const finding of check(parts, options)) found.push(finding)
      return found
    },

    close: test.close,
  }
}

/** Everything that a store in use has; the same contents twice, replaced and deleted ones among it. */
export async function fill(world: World) {
  const documents = await world.folder('Documents')
  const letters = await world.folder('Letters', documents.oid)
  const small = await world.file('small.txt', randomBytes(100), letters.oid)
  const large = await world.file('large.bin', randomBytes(200_000), documents.oid)
  const twice = randomBytes(90_000)
  await world.file('first copy', twice)
  await world.file('second copy', twice)
  await world.file('cafe\u0301', Buffer.alloc(0))
  await world.emptyFile('nothing yet')
  const changing = await world.file('changing', randomBytes(70_000))
  await world.put(changing.oid, randomBytes(80_000))
  await world.put(changing.oid, randomBytes(10))
  const gone = await world.folder('gone')
  await world.file('with it', randomBytes(100_000), gone.oid)
  await world.remove(gone.oid)
  await world.remove((await world.file('alone', randomBytes(50))).oid)
  const target = await world.emptyFile('being uploaded')
  const upload = await world.upload(target.oid, randomBytes(4 * 1024 * 1024 + 123))
  await world.upload((await world.emptyFile('begun')).oid, Buffer.alloc(0))
  const sandbox = await world.sandbox()
  return { documents, letters, small, large, upload, sandbox }
}

export type Filled = Awaited<ReturnType<typeof fill>>

function callerOf(user: UserRow): Caller {
  return {
    userId: user.id,
    email: user.email,
    rootSid: user.root_sid,
    quotaBytes: null,
    appId: BUILT_IN_APP,
    deviceId: 'device',
    scopes: parseScopes('files.read,files.write,files.appdata'),
    isAdmin: false,
    nodeDeselects: false,
    expiresMs: null,
    usedMs: null,
    version: V1_3,
    origin: 'test',
  }
}

function feed(content: Buffer) {
  return async (sink: (chunk: Buffer) => Promise<void> | undefined): Promise<'complete'> => {
    if (content.length > 0) await sink(content)
    return 'complete'
  }
}

function one<T>(row: T | undefined): T {
  if (row === undefined) throw new Error('there is no such row')
  return row
}

async function breakTables(
  { url, dataDir }: { url: string | undefined; dataDir: string },
  statements: readonly string[],
): Promise<void> {
  if (url === undefined) {
    const database = new Sqlite(join(dataDir, SQLITE_FILE_NAME))
    database.pragma('foreign_keys = OFF')
    for (const statement of statements) database.exec(statement)
    database.close()
    return
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('SET session_replication_role = replica')
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}
