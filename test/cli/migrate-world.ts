/** A node with something of everything in it, and everything that its people can read, to be compared after a move. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { ROUTES } from '../../src/api/routes.js'
import { V1_2, V1_3, within, type Version } from '../../src/model/version.js'
import { bytesOf, expectProgress, part } from '../api/content/support.js'
import { cast, type Cast, type Person as Member } from '../api/people/cast.js'
import { ok } from '../api/people/support.js'
import type { Browser } from '../oauth/browser.js'
import { openWorld, type App, type Person, type World } from '../oauth/support.js'
import type { Answer, Client } from '../support/client.js'
import { emptyDatabaseUrl } from '../support/engines.js'
import type { Middleman } from '../support/middleman.js'
import type { CommandResult } from '../support/server.js'

const PROGRAM = fileURLToPath(new URL('../../bin/starling', import.meta.url))
const KIB = 1024
const MIB = 1024 * KIB
const READS_AT_ONCE = 8

/** Above the size up to which an S3 store is sent content in one piece. */
export const LARGE = bytesOf(33 * MIB, 3)
export const CHUNKED = bytesOf(9 * MIB, 4)
export const CHUNKED_FIRST = 5 * MIB
/** Larger content of the world: what is not in the database. */
export const PLACED = [bytesOf(64 * KIB + 1, 1), bytesOf(6 * MIB, 2), LARGE, bytesOf(100 * KIB, 5)]

export interface Populated {
  readonly world: World
  readonly people: Cast
  /** Somebody with a password, and somebody who needs a code besides. */
  readonly plain: Person
  readonly careful: Person
  readonly browser: Browser
  readonly app: App
  /** Not yet exchanged for a token. */
  readonly code: string
  readonly appToken: string
  readonly revoked: string
  readonly upload: { readonly id: string; readonly uploadId: string }
  readonly ids: readonly string[]
  readonly devices: readonly string[]
  /** Everything that all of them can read. */
  read(): Promise<Record<string, string>>
}

export async function populate(): Promise<Populated> {
  const world = await openWorld('sqlite', { args: ['--legacy-versions'] })
  const { server } = world
  const people = await cast(server)
  const { O, E, V, G, S, A } = people

  const folder = await O.api.folder('Déjà vu')
  const deep = await O.api.folder('deep', await O.api.folder('deeper', folder))
  const empty = await O.api.file('empty', folder, '')
  const files = await Promise.all(
    [Buffer.from('small'), bytesOf(64 * KIB, 6), ...PLACED].map((content, index) =>
      O.api.file(`file ${index}`, deep, content),
    ),
  )
  const twin = await S.api.file('the same bytes', 'root', PLACED[1])
  const shared = await E.api.file('from Eva', people.sh, PLACED[3])
  await G.api.file('never filled', people.sh)
  ok(await E.api.put(`/folders/${people.sh}`, { name: 'What Eva calls it' }), 200)
  const corner = await V.api.folder('corner')
  ok(await V.api.put(`/folders/${people.sh}`, { parent: corner }), 200)
  const hidden = await O.api.folder('hidden')
  const deselected = await O.api.file('inside', hidden, bytesOf(70 * KIB, 7))
  expect((await server.command('node', 'deselect', hidden)).status).toBe(0)

  const chunked = await O.api.file('chunked', folder)
  const uploadId = expectProgress(
    await O.api.upload(chunked, CHUNKED.subarray(0, CHUNKED_FIRST), part(0, CHUNKED_FIRST - 1)),
    CHUNKED_FIRST,
  )

  const plain = await world.addPerson({ email: 'plain@x.test' })
  const careful = await world.addPerson({ email: 'careful@x.test', secondFactor: true })
  const app = await world.addApp()
  const browser = await world.signedIn(plain)
  const appToken = await world.grant(browser, app, 'files.read,files.write,files.appdata')
  await server.client(appToken).file('in the sandbox', 'appdata', 'kept apart')
  const code = await world.code(browser, app)
  ok(await A.api.post('/invitees', { email_to: people.N }), 201)
  expect((await server.command('user', 'quota', S.email, '12345678')).status).toBe(0)
  const revoked = await server.addToken(S.email)
  await server.revoke(revoked)
  const listed = ok(await O.api.get('/users/me/devices'), 200)
  const devices = (JSON.parse(listed.text) as { id: string }[]).map(({ id }) => id)
  ok(await O.api.put(`/devices/${devices[0] ?? ''}`, { name: "Olga's drill" }), 200)

  const ids = [folder, deep, empty, ...files, twin, shared, corner, hidden, deselected, chunked, people.sh]
  const clients = [
    ...[O, people.M, E, V, G, people.P, people.L, S, A, people.A0].map(
      ({ email, api }: Member): [string, Client] => [email, api],
    ),
    ['the application', server.client(appToken)] as [string, Client],
    ['Olga of old', server.client(O.api.token, '1.2')] as [string, Client],
    ['revoked', server.client(revoked)] as [string, Client],
    ['nobody', server.client()] as [string, Client],
  ]
  const values: Record<string, readonly string[]> = {
    id: ['root', 'appdata', ...ids],
    email: ['me', O.email, E.email, people.P.email, people.N],
    share: [people.sh],
    group: [people.grp],
    device: devices,
  }

  return {
    world,
    people,
    plain,
    careful,
    browser,
    app,
    code,
    appToken,
    revoked,
    upload: { id: chunked, uploadId },
    ids,
    devices,
    async read() {
      const all: Record<string, string> = {}
      for (const [name, api] of clients) {
        const waiting = readable(name === 'Olga of old' ? V1_2 : V1_3, values)
        const readers = Array.from({ length: READS_AT_ONCE }, async () => {
          for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
            all[`${name}: ${path}`] = seen(path, await api.get(path))
          }
        })
        await Promise.all(readers)
      }
      return all
    },
  }
}

/** Every path that this version can read, with every value for each of its parts. */
function readable(version: Version, values: Readonly<Record<string, readonly string[]>>): string[] {
  return ROUTES.filter(
    ({ method, since, until }) => method === 'GET' && within(version, since, until),
  ).flatMap(({ path }) => filled(path, values))
}

function filled(path: string, values: Readonly<Record<string, readonly string[]>>): string[] {
  const name = /:([a-z]+)/.exec(path)?.[1]
  if (name === undefined) return [path]
  const choices = values[name]
  if (choices === undefined) throw new Error(`no values for ${path}`)
  return choices.flatMap((value) => filled(path.replace(`:${name}`, value), values))
}

/** When a device was last seen is the one thing that may have moved on. */
function seen(path: string, { status, headers, body }: Answer): string {
  const told = /\/status$/.test(path) ? '' : body.length > 10_000 ? sha256(body) : body.toString('latin1')
  return JSON.stringify([status, headers.etag, headers['content-type'], headers['last-modified'], told])
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Every file below a folder with its bytes, to see that nothing in it was touched. */
export async function filesIn(folder: string): Promise<Record<string, string>> {
  const all: Record<string, string> = {}
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) all[entry.name] = sha256(await readFile(join(entry.parentPath, entry.name)))
  }
  return all
}

/** Runs `starling migrate`; `onStart` is given what kills it. */
export function migrate(
  args: readonly string[],
  onStart: (kill: () => void) => void = () => undefined,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [PROGRAM, 'migrate', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    onStart(() => void child.kill('SIGKILL'))
    child.once('close', (code) => resolve({ status: code ?? -1, stdout, stderr }))
  })
}

/**
 * The same through a relay that lets this many pieces pass to the target; then the run is killed and nothing of it gets
 * there any more. Resolves to undefined when it was killed.
 */
export async function migrateKilled(
  relay: Middleman,
  args: readonly string[],
  isOver: (chunk: Buffer) => boolean,
): Promise<CommandResult | undefined> {
  let isKilled = false
  const result = await migrate(args, (kill) =>
    relay.alter((chunk) => {
      if (!isKilled && isOver(chunk)) {
        isKilled = true
        kill()
      }
      return isKilled ? Buffer.alloc(0) : chunk
    }),
  )
  relay.alter(undefined)
  return isKilled ? undefined : result
}

export interface Summary {
  readonly tables?: Record<string, number>
  readonly rows?: number
  readonly content?: { blobs: number; bytes: number; copied: number }
  readonly settings: Record<string, string>
}

/** The one JSON value of a run that came to its end, which also told of its progress. */
export function summaryOf({ status, stdout, stderr }: CommandResult): Summary {
  expect(status, stderr).toBe(0)
  expect(stdout.split('\n')).toHaveLength(2)
  return JSON.parse(stdout) as Summary
}

/** A database without any table. */
export async function emptyTarget(): Promise<string> {
  const url = await emptyDatabaseUrl('postgres')
  if (url === undefined) throw new Error('no database')
  return url
}
