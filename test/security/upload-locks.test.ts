/** An upload in progress is touched by one request at a time: whatever writes, links or removes its bytes holds it. */
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Call } from '../../src/api/route.js'
import { UPLOAD_ROUTES } from '../../src/api/upload.js'
import { commandDeps } from '../../src/cli/installation.js'
import { hashSecret } from '../../src/model/secrets.js'
import { V1_3 } from '../../src/model/version.js'
import { sweep } from '../../src/service/sweep.js'
import { touchUpload } from '../../src/db/uploads.js'
import {
  begin,
  expectProgress,
  expectRefused,
  expectStored,
  part,
  total,
  useServer,
} from '../api/content/support.js'
import { ENGINES } from '../support/engines.js'

type Handle = (passed: object) => Promise<unknown>

interface Rule {
  input(incoming: unknown): object
}

describe('a question how far an upload is, asked with a total', () => {
  it('stays a question when the upload reaches that total meanwhile, because it does not hold the upload', async () => {
    const UPLOAD_ID = 'a'.repeat(64)
    const done: string[] = []
    const seen = [5, 10]
    const passed = { tx: {}, grants: { object: { object: { content: null }, caller: {} } } }
    const api = {
      gate: {
        opening: async (incoming: unknown, _version: unknown, rule: Rule, handle: Handle) => {
          const read = { ...passed, input: rule.input(incoming) }
          return { admitted: {}, input: read.input, result: await handle(read) }
        },
        reading: (_admitted: unknown, _rule: unknown, input: object, handle: Handle) =>
          handle({ ...passed, input }),
      },
      presence: { isDeselected: () => Promise.resolve(false) },
      space: { freeOnNode: () => Promise.resolve(1000), freeForUser: () => Promise.resolve(1000) },
      uploads: {
        find: () => Promise.resolve({ id: UPLOAD_ID, row: { id: 'row', received: seen.shift() ?? 10 } }),
        touch: () => Promise.resolve(),
        complete: () => {
          done.push('completed')
          return Promise.resolve({ kind: 'stored', hash: 'h' })
        },
      },
      turnstile: {
        isFull: false,
        enter: () => {
          done.push('entered')
          return Promise.resolve({ leave: () => undefined })
        },
      },
    }
    const req = { headers: { 'content-range': 'bytes */10', 'upload-id': UPLOAD_ID, 'content-length': '0' } }
    const call = {
      api,
      version: V1_3,
      incoming: { exchange: { req }, version: V1_3, params: { id: 'f'.repeat(64) } },
    } as unknown as Call
    const answer = await UPLOAD_ROUTES[0]?.serve(call)
    expect(done).not.toEqual(['completed'])
    expect(answer).toMatchObject({ status: 200 })
  })
})

describe.each(ENGINES)('an upload on %s', (engine) => {
  const server = useServer(engine)

  it('that was used again while the sweep waited for its turn is not ended', async () => {
    const { api } = await server().person()
    const id = await api.file('late')
    const uploadId = expectProgress(await api.upload(id, 'hello', part(0, 4)), 5)
    const { installation } = server()
    const lifetimeMs = 1000
    const later = Date.now() + 2 * lifetimeMs
    const broom = sweep(
      {
        ...commandDeps(installation, () => undefined),
        now: () => later,
        uploadLifetimeMs: lifetimeMs,
        turnstile: {
          isFull: false,
          async enter() {
            // Whoever held the upload has just received a chunk for it.
            await installation.db.write((tx) => touchUpload(tx, hashSecret(uploadId), later))
            return { leave: () => undefined }
          },
        },
      },
      installation.db,
    )
    await broom.expireUploads()
    expectProgress(await api.upload(id, '', { 'Upload-ID': uploadId, ...total() }), 5, 200)
    expectStored(await api.upload(id, ' you', { 'Upload-ID': uploadId, ...part(5, 8, 9) }))
    expect((await api.get(`/files/${id}/content`)).text).toBe('hello you')
  })

  it('whose received bytes are gone from the disk is refused as unknown, so that its client begins anew', async () => {
    const { api } = await server().person()
    const id = await api.file('restored')
    const uploadId = expectProgress(await api.upload(id, 'hello', part(0, 4)), 5)
    await rm(join(server().dataDir, 'staging'), { recursive: true })
    await mkdir(join(server().dataDir, 'staging'))
    expectRefused(await api.upload(id, ' you', { 'Upload-ID': uploadId, ...part(5, 8, 9) }), 400, 'BAD_ARGS')
    expectRefused(await api.upload(id, '', { 'Upload-ID': uploadId, ...total() }), 400, 'BAD_ARGS')
    const again = await begin(api, id)
    expectStored(await api.upload(id, 'hello', { 'Upload-ID': again, ...part(0, 4, 5) }))
  })
})
