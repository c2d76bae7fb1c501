import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import {
  CopyObjectCommand,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bytesOf, expectBytes, expectStored } from '../api/content/support.js'
import type { Client } from '../support/client.js'
import { dropDatabase, emptyDatabaseUrl } from '../support/engines.js'
import { findBinaries } from '../support/postgres.js'
import { onlooker } from '../support/s3-client.js'
import { startServer, type TestServer } from '../support/server.js'
import { startSwift, type Swift } from '../support/swift.js'

const run = promisify(execFile)
const LARGE = bytesOf(300_000, 1)
const SMALL = bytesOf(2000, 2)
const DOOMED = bytesOf(150_000, 3)

/** What docs/operating.md says about installations over PostgreSQL and S3, step by step. */
describe('a backup of PostgreSQL and a bucket, made while the node runs', () => {
  let swift: Swift
  let store: S3Client
  let bucket: string
  let server: TestServer
  let email: string
  let token: string
  let api: Client
  let folder: string
  let tool: (name: string) => string

  beforeAll(async () => {
    swift = await startSwift()
    store = new S3Client({
      endpoint: swift.endpoint,
      region: swift.region,
      forcePathStyle: true,
      credentials: { accessKeyId: swift.accessKey, secretAccessKey: swift.secretKey },
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    })
    bucket = swift.bucketName()
    await onlooker(swift).createBucket(bucket)
    server = await startServer('postgres', { content: contentOf(bucket) })
    email = await server.addUser()
    token = await server.addToken(email)
    api = server.client(token)
    folder = await mkdtemp(join(tmpdir(), 'starling-backup-'))
    // The tools of the PostgreSQL that runs here, where it has them.
    const binaries = dirname(await realpath(join(await findBinaries(), 'postgres')))
    tool = (name) => (existsSync(join(binaries, name)) ? join(binaries, name) : name)
  })
  afterAll(async () => {
    store.destroy()
    await server.stop()
    await swift.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const contentOf = (name: string): { address: string; credentials: string } => ({
    address: swift.content(name),
    credentials: swift.credentialsFile,
  })

  async function dump(): Promise<string> {
    const file = join(folder, `${Date.now()}.dump`)
    await run(tool('pg_dump'), ['--format=custom', `--file=${file}`, server.databaseUrl ?? ''])
    return file
  }

  async function restore(file: string): Promise<string> {
    const url = (await emptyDatabaseUrl('postgres')) ?? ''
    await run(tool('pg_restore'), ['--exit-on-error', '--no-owner', `--dbname=${url}`, file])
    return url
  }

  /** A node with a new data folder over what was restored. */
  async function expectServed(url: string, name: string, files: Record<string, Buffer>): Promise<void> {
    const copy = await startServer('postgres', { databaseUrl: url, content: contentOf(name) })
    try {
      for (const [id, bytes] of Object.entries(files)) {
        expectBytes((await copy.client(token).get(`/files/${id}/content`)).body, bytes)
      }
      expect((await copy.command('check')).stdout).toBe('no broken invariant\n')
    } finally {
      await copy.stop()
      await dropDatabase(url)
    }
  }

  it('is the dump and then a copy of the bucket, if nothing was deleted between the two', async () => {
    const files = {
      [await api.file('large', 'root', LARGE)]: LARGE,
      [await api.file('small', 'root', SMALL)]: SMALL,
    }
    const file = await dump()
    const copy = swift.bucketName()
    await onlooker(swift).createBucket(copy)
    for (const key of await onlooker(swift).keys(bucket)) {
      await store.send(new CopyObjectCommand({ Bucket: copy, Key: key, CopySource: `${bucket}/${key}` }))
    }
    await expectServed(await restore(file), copy, files)
  })

  it('goes back to an earlier moment in a bucket that keeps versions, whatever was deleted since', async () => {
    await store.send(
      new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration: { Status: 'Enabled' } }),
    )
    const doomed = await api.file('doomed', 'root', DOOMED)
    const replaced = await api.file('replaced', 'root', LARGE.subarray(0, 120_000))
    const file = await dump()
    expect((await api.delete(`/files/${doomed}`)).status).toBe(204)
    expectStored(await api.upload(replaced, bytesOf(90_000, 4)))
    await expect.poll(async () => (await deleted()).length, { timeout: 90_000 }).toBe(2)
    await server.terminate()
    for (const { key, version } of await deleted()) {
      const source = `${bucket}/${key}?versionId=${version}`
      await store.send(new CopyObjectCommand({ Bucket: bucket, Key: key, CopySource: source }))
    }
    await expectServed(await restore(file), bucket, {
      [doomed]: DOOMED,
      [replaced]: LARGE.subarray(0, 120_000),
    })
  })

  /** What has a newest version that says it is deleted, with the version before that. */
  async function deleted(): Promise<{ key: string; version: string }[]> {
    const { DeleteMarkers = [], Versions = [] } = await store.send(
      new ListObjectVersionsCommand({ Bucket: bucket }),
    )
    return DeleteMarkers.filter(({ IsLatest }) => IsLatest === true).map(({ Key = '' }) => ({
      key: Key,
      version: Versions.find((one) => one.Key === Key)?.VersionId ?? '',
    }))
  }
})
