/** Three nodes over one PostgreSQL and one S3 store, all real, on loopback. */
import { mkdtemp, rm } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureCertificate } from '../../src/http/tls.js'
import type { Answer, Client } from './client.js'
import { steadyPort } from './postgres.js'
import { onlooker, type Onlooker } from './s3-client.js'
import { startServer, type TestServer } from './server.js'
import { startSwift, type Swift } from './swift.js'

export interface Trio {
  readonly swift: Swift
  readonly bucket: string
  readonly onlooker: Onlooker
  readonly nodes: readonly TestServer[]
  readonly email: string
  readonly token: string
  node(index: number): TestServer
  idOf(index: number): string
  /** The person's client of one node, or of each of them. */
  at(index: number, token?: string): Client
  everywhere(token?: string): Client[]
  stop(): Promise<void>
}

export interface TrioOptions {
  readonly args?: readonly string[]
  /** The way of each node to one database that is there already. */
  readonly databaseUrls?: readonly [string, string, string]
}

export async function startTrio({ args = [], databaseUrls }: TrioOptions = {}): Promise<Trio> {
  const swift = await startSwift()
  const bucket = swift.bucketName()
  const looking = onlooker(swift)
  await looking.createBucket(bucket)
  const certificates = await mkdtemp(join(tmpdir(), 'starling-trio-'))
  await ensureCertificate(certificates, hostname())
  const tls = { cert: join(certificates, 'cert.pem'), key: join(certificates, 'key.pem') }
  const content = { address: swift.content(bucket), credentials: swift.credentialsFile }
  const nodes: TestServer[] = []
  for (let count = 0; count < 3; count += 1) {
    const databaseUrl = databaseUrls?.[count] ?? nodes[0]?.databaseUrl
    const shared = databaseUrl === undefined ? {} : { databaseUrl }
    // A node that is started again must be found where it was.
    const port = ['--port', String(await steadyPort())]
    nodes.push(await startServer('postgres', { content, tls, args: [...port, ...args], ...shared }))
  }

  function node(index: number): TestServer {
    const found = nodes[index]
    if (found === undefined) throw new Error(`there is no node ${index}`)
    return found
  }

  const email = await node(0).addUser()
  const token = await node(0).addToken(email)
  return {
    swift,
    bucket,
    onlooker: looking,
    nodes,
    email,
    token,
    node,
    idOf: (index) => node(index).installation.nodeId,
    at: (index, withToken = token) => node(index).client(withToken),
    everywhere: (withToken = token) => nodes.map((server) => server.client(withToken)),
    async stop() {
      for (const server of [...nodes].reverse()) await server.stop()
      await swift.stop()
      await rm(certificates, { recursive: true, force: true })
    },
  }
}

/** The node that an answer says the client belongs to. */
export function routeOf(answer: Answer): string | undefined {
  return /^route=([0-9a-f]{32});/.exec(answer.headers['set-cookie']?.[0] ?? '')?.[1]
}

export function pinnedTo(nodeId: string): Record<string, string> {
  return { Cookie: `route=${nodeId}` }
}

export function strictlyAt(nodeId: string): Record<string, string> {
  return { ...pinnedTo(nodeId), 'Endpoint-Consistency': 'strict' }
}
