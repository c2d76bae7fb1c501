import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { openRaw, requestHead, type RawAnswer } from '../../support/raw.js'
import { begin, bytesOf, expectBytes, expectProgress, expectStored, part, useServer } from './support.js'

/** Far more than all buffers between server and client hold, so that a client that stops reading stops the server. */
const LARGE_BYTES = 32 * 1024 * 1024
const OLD = bytesOf(LARGE_BYTES, 1)
const NEW = bytesOf(LARGE_BYTES, 2)
const BESIDE = bytesOf(8 * 1024 * 1024, 3)

describe.each(ENGINES)('content that changes while it is downloaded on %s', (engine) => {
  describe.each([1, 2])('by a node of %i process(es)', (workers) => {
    const server = useServer(engine, { workers })
    let api: Client

    beforeAll(async () => {
      api = (await server().person()).api
    })

    /** Downloads begin and stop reading, then something happens, then they read on to their end. */
    async function downloadWhile(
      id: string,
      happening: () => Promise<void>,
      options: { headers?: Record<string, string>; times?: number; token?: string } = {},
    ): Promise<RawAnswer[]> {
      const { headers = {}, times = 1, token = api.token } = options
      const downloads = []
      for (let count = 0; count < times; count += 1) {
        const raw = await openRaw(server())
        raw.send(requestHead('GET', `/api/v1.3/files/${id}/content`, token, headers))
        await raw.receive(10_000)
        raw.pause()
        downloads.push(raw)
      }
      await happening()
      return Promise.all(
        downloads.map(async (raw) => {
          raw.resume()
          const answer = await raw.answer()
          raw.drop()
          return answer
        }),
      )
    }

    function expectCut(answer: RawAnswer, status: number): void {
      expect(answer.status).toBe(status)
      expect(answer.isWhole).toBe(false)
      expect(answer.body.length).toBeLessThan(LARGE_BYTES)
    }

    function expectPrefix(body: Buffer): void {
      expect(body.length).toBeGreaterThan(0)
      expect(body.equals(OLD.subarray(0, body.length))).toBe(true)
    }

    async function replace(id: string): Promise<void> {
      expectStored(await api.upload(id, NEW))
    }

    it('is cut off before the end when an upload completes [DOWN-40]', async () => {
      const id = await api.file('replaced.bin', 'root', OLD)
      const [answer] = await downloadWhile(id, () => replace(id))
      if (answer === undefined) throw new Error('no download')
      expectCut(answer, 200)
      expectPrefix(answer.body)
      expectBytes((await api.get(`/files/${id}/content`)).body, NEW)
    })

    it('is cut off before the end when the file or a folder above it is deleted [DOWN-41]', async () => {
      const file = await api.file('deleted.bin', 'root', OLD)
      const deletion = await downloadWhile(file, async () => {
        expect((await api.delete(`/files/${file}`)).status).toBe(204)
      })
      const folder = await api.folder('deleted')
      const inner = await api.folder('inner', folder)
      const below = await api.file('deep.bin', inner, OLD)
      const above = await downloadWhile(below, async () => {
        expect((await api.delete(`/folders/${folder}`)).status).toBe(204)
      })
      for (const answer of [...deletion, ...above]) {
        expectCut(answer, 200)
        expectPrefix(answer.body)
      }
    })

    it('is cut off before the end when the token is revoked, and not when another one is [AUTH-13]', async () => {
      const id = await api.file('revoked.bin', 'root', OLD)
      const { email, token, api: reader } = await server().person()
      const own = await reader.file('read.bin', 'root', OLD)
      const [kept] = await downloadWhile(id, () => server().revoke(token))
      expect(kept?.isWhole).toBe(true)
      const second = await server().addToken(email)
      const [cut] = await downloadWhile(own, () => server().revoke(second), { token: second })
      if (cut === undefined) throw new Error('no download')
      expectCut(cut, 200)
      expectPrefix(cut.body)
    })

    it('is cut off as one range and as several [DOWN-43]', async () => {
      const id = await api.file('ranges.bin', 'root', OLD)
      const [single] = await downloadWhile(id, () => replace(id), { headers: { Range: 'bytes=0-33000000' } })
      if (single === undefined) throw new Error('no download')
      expectCut(single, 206)
      expectPrefix(single.body)
      expectStored(await api.upload(id, OLD))
      const [several] = await downloadWhile(id, () => replace(id), {
        headers: { Range: 'bytes=0-30000000,30000010-' },
      })
      if (several === undefined) throw new Error('no download')
      expectCut(several, 206)
      expect(several.headers['content-type']).toContain('multipart/byteranges')
      expectPrefix(several.body.subarray(several.body.indexOf('\r\n\r\n') + 4))
    })

    it('goes to the end when an upload is only in progress, or the file is renamed or moved [DOWN-44]', async () => {
      const folder = await api.folder('elsewhere')
      const id = await api.file('kept.bin', 'root', OLD)
      const [answer] = await downloadWhile(id, async () => {
        const uploadId = await begin(api, id)
        expectProgress(
          await api.upload(id, NEW.subarray(0, 100_000), { 'Upload-ID': uploadId, ...part(0, 99_999) }),
          100_000,
        )
        expect((await api.put(`/files/${id}`, { name: 'renamed.bin' })).status).toBe(200)
        expect((await api.put(`/files/${id}`, { parent: folder })).status).toBe(200)
      })
      expect(answer?.isWhole).toBe(true)
      expectBytes(answer?.body ?? Buffer.alloc(0), OLD)
    })

    it('has the new bytes and the new tag in every download after the answer [DOWN-45]', async () => {
      const id = await api.file('fresh.bin', 'root', 'old')
      for (let round = 0; round < 12; round += 1) {
        const body = bytesOf(round % 2 === 0 ? 200_000 : 100, round + 10)
        const tag = expectStored(await api.upload(id, body))
        const answers = await Promise.all([1, 2, 3].map(() => api.get(`/files/${id}/content`)))
        for (const answer of answers) {
          expect(answer.headers.etag).toBe(tag)
          expectBytes(answer.body, body)
        }
      }
    })

    it('puts no byte into a download beside it, whether it is cut off or left by its client', async () => {
      const changing = await api.file('changing.bin', 'root', OLD)
      const beside = await api.file('beside.bin', 'root', BESIDE)
      for (let round = 0; round < 2; round += 1) {
        const happening = async (): Promise<void> => {
          const whole = [1, 2, 3].map(() => api.get(`/files/${beside}/content`))
          const left = await openRaw(server())
          left.send(requestHead('GET', `/api/v1.3/files/${changing}/content`, api.token))
          await left.receive(5_000_000)
          left.drop()
          await replace(changing)
          for (const answer of await Promise.all(whole)) expectBytes(answer.body, BESIDE)
        }
        const answers = await downloadWhile(changing, happening, { times: 3 })
        for (const answer of answers) {
          expectCut(answer, 200)
          expectPrefix(answer.body)
        }
        expectStored(await api.upload(changing, OLD))
      }
    }, 180_000)

    it('is cut off whichever process sends it and whichever made the change [DOWN-42]', async () => {
      const id = await api.file('several.bin', 'root', OLD)
      const answers = await downloadWhile(id, () => replace(id), { times: 4 })
      for (const answer of answers) {
        expectCut(answer, 200)
        expectPrefix(answer.body)
      }
      // The log has one line a request, with the process that served it.
      const isDownload = (line: string): boolean =>
        line.includes('"method":"GET"') && line.includes(id) && line.includes('"cut":true')
      await expect
        .poll(
          () => {
            const lines = server().log().split('\n').filter(isDownload)
            return new Set(lines.map((line) => /"pid":(\d+)/.exec(line)?.[1])).size
          },
          { timeout: 40_000 },
        )
        .toBe(workers)
    })
  })
})
