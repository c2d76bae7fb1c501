import { get as getPlain } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { get as getTls } from 'node:https'
import { describe, expect, it } from 'vitest'
import { sendContent } from '../../src/http/content.js'
import type { ContentReply } from '../../src/http/content.js'
import { FramePool } from '../../src/http/frame-pool.js'
import type { HttpLimits } from '../../src/http/limits.js'
import { seededRandom } from '../crash/random.js'
import { request, startServer, testCertificate, wait } from './support.js'
import type { TestServer, Wire } from './support.js'

const MIB = 1_048_576
const FORWARDED = ['X-Forwarded-Proto: https']
/** A frame has room for a chunk and a little text. */
const SMALL_FRAME_BYTES = 270_000
/** Longer than a piece may take of a quick reader. */
const STALLED_MS = 1_500
/** However slow the machine is, its readers count as quick. */
const QUICK = { slowPieceMs: 600_000 }

/** No two contents have four bytes in common at the same place. */
function contentOf(number: number, size: number): Buffer {
  const words = new Uint32Array(Math.ceil(size / 4))
  for (let at = 0; at < words.length; at += 1) words[at] = at * 2_654_435_761 + number * 40_503
  return Buffer.from(words.buffer, 0, size)
}

/** A read of a download, with the memory that it was given to read into. */
interface Read {
  readonly memory: ArrayBufferLike
  readonly position: number
}

interface Served {
  readonly server: TestServer
  /** By the path of the download. */
  reads(path: string): Read[]
  readonly closed: Set<string>
}

/** Serves the same content under every path, unless told otherwise. */
async function serve(
  content: (path: string) => Buffer,
  options: {
    limits?: Partial<HttpLimits>
    transport?: 'tls' | 'proxy'
    change?: (path: string) => Partial<ContentReply> & { readonly failsAt?: number }
  } = {},
): Promise<Served> {
  const all = new Map<string, Read[]>()
  const closed = new Set<string>()
  const reads = (path: string): Read[] => {
    const known = all.get(path) ?? []
    all.set(path, known)
    return known
  }
  const server = await startServer(
    async (exchange) => {
      const { path } = exchange
      const bytes = content(path)
      const { failsAt, ...change } = options.change?.(path) ?? {}
      await sendContent(exchange, {
        source: {
          read: async (buffer, position, length) => {
            reads(path).push({ memory: buffer.buffer, position })
            await new Promise(setImmediate)
            if (failsAt !== undefined && position + length > failsAt) throw new Error('the disk is broken')
            return bytes.copy(buffer, 0, position, position + length)
          },
          close: () => Promise.resolve(void closed.add(path)),
        },
        size: bytes.length,
        ranges: undefined,
        headers: {},
        contentType: 'text/plain',
        isCurrent: () => Promise.resolve(true),
        ...change,
      })
    },
    options.limits,
    options.transport,
  )
  return { server, reads, closed }
}

/** Asks, reads until the condition holds and then no more, until the server has read what it could and waits. */
async function stall({ server, reads }: Served, path: string, condition: () => boolean): Promise<Wire> {
  const wire = await server.open()
  wire.send(request(`GET ${path}`, FORWARDED))
  await wire.until(condition)
  wire.socket.pause()
  let before = -1
  // Several short times, because a process that is stopped for a while sees the end of one of them only.
  for (let quiet = 0; quiet < 10; quiet += 1) {
    if (before !== reads(path).length) quiet = 0
    before = reads(path).length
    await wait(STALLED_MS / 10)
  }
  return wire
}

function isLarge({ memory }: Read): boolean {
  return memory.byteLength > SMALL_FRAME_BYTES
}

function largeMemory(reads: readonly Read[]): Set<ArrayBufferLike> {
  return new Set(reads.filter(isLarge).map(({ memory }) => memory))
}

function stallWithLarge(served: Served, path: string): Promise<Wire> {
  return stall(served, path, () => largeMemory(served.reads(path)).size === 2)
}

describe('a pool of frames', () => {
  it('lends no more than it may, and what is free to the next one', () => {
    const pool = new FramePool(10, 2)
    const first = pool.take()
    const second = pool.take()
    expect(first?.frame.buffer).not.toBe(second?.frame.buffer)
    expect(pool.take()).toBeUndefined()
    first?.end('free')
    expect(pool.take()?.frame).toBe(first?.frame)
    expect(pool.take()).toBeUndefined()
  })

  it('lends a lost frame to nobody, and another one in its place', () => {
    const pool = new FramePool(10, 1)
    const lost = pool.take()
    lost?.end('lost')
    const other = pool.take()
    expect(other?.frame.buffer).not.toBe(lost?.frame.buffer)
    expect(pool.take()).toBeUndefined()
  })

  it('lends a frame to one only, however often its loan is ended', () => {
    const pool = new FramePool(10, 2)
    const loan = pool.take()
    loan?.end('free')
    loan?.end('free')
    const again = pool.take()
    loan?.end('free')
    expect(again?.frame).toBe(loan?.frame)
    expect(pool.take()?.frame).not.toBe(loan?.frame)
    expect(pool.take()).toBeUndefined()
  })
})

describe.each(['tls', 'proxy'] as const)(
  'the frames of downloads over %s',
  { timeout: 120_000 },
  (transport) => {
    it('are large for a long download, and the same ones for the next', async () => {
      const bytes = contentOf(1, 12 * MIB)
      const served = await serve(() => bytes, { transport, limits: QUICK })
      for (const path of ['/1', '/2']) {
        const wire = await served.server.open()
        expect((await wire.send(request(`GET ${path}`, FORWARDED)).answer()).body.equals(bytes)).toBe(true)
      }
      const first = largeMemory(served.reads('/1'))
      expect(first.size).toBe(2)
      expect(largeMemory(served.reads('/2'))).toEqual(first)
      expect(served.reads('/1').length).toBeLessThan(20)
    })

    it('are small where there is less to read than a large one holds, in a file or in a range', async () => {
      const bytes = contentOf(1, 8 * MIB)
      const parts = [0, 2, 4, 6].map((at) => ({ start: at * MIB, end: (at + 1) * MIB - 2 }))
      const served = await serve((path) => (path === '/short' ? bytes.subarray(0, MIB - 1) : bytes), {
        transport,
        limits: QUICK,
        change: (path) => (path === '/parts' ? { ranges: parts } : {}),
      })
      for (const path of ['/short', '/parts']) {
        const wire = await served.server.open()
        await wire.send(request(`GET ${path}`, FORWARDED)).answer()
        expect(served.reads(path).length).toBeGreaterThan(3)
        expect(largeMemory(served.reads(path)).size).toBe(0)
      }
    })

    it('are small for what is begun while the large ones are lent, and large again later', async () => {
      const bytes = contentOf(1, 32 * MIB)
      const served = await serve(() => bytes, {
        transport,
        limits: { ...QUICK, largeFramesBytes: 2.5 * MIB },
      })
      const stalled = await stallWithLarge(served, '/stalled')
      const held = largeMemory(served.reads('/stalled'))
      expect(held.size).toBe(2)
      const during = await served.server.open()
      expect((await during.send(request('GET /during', FORWARDED)).answer()).body.equals(bytes)).toBe(true)
      expect(largeMemory(served.reads('/during')).size).toBe(0)
      stalled.socket.resume()
      expect((await stalled.answer()).body.equals(bytes)).toBe(true)
      const later = await served.server.open()
      expect((await later.send(request('GET /later', FORWARDED)).answer()).body.equals(bytes)).toBe(true)
      expect(largeMemory(served.reads('/later'))).toEqual(held)
    })

    it('are none of a slow reader any more once it has taken what it held', async () => {
      const bytes = contentOf(1, 32 * MIB)
      const served = await serve(() => bytes, { transport })
      const slow = await stall(served, '/slow', () => served.reads('/slow').length > 4)
      const before = served.reads('/slow').length
      slow.socket.resume()
      expect((await slow.answer()).body.equals(bytes)).toBe(true)
      const after = served.reads('/slow').slice(before)
      expect(after.length).toBeGreaterThan(20)
      expect(after.filter(isLarge)).toEqual([])
    })

    it('go to nobody else when the connection breaks before they were taken', async () => {
      const bytes = contentOf(1, 32 * MIB)
      let cut = (): void => undefined
      const served = await serve(() => bytes, {
        transport,
        limits: { ...QUICK, largeFramesBytes: 2 * MIB },
        change: (path) => (path === '/cut' ? { onAbort: (abort) => (cut = abort) } : {}),
      })
      const left = await stallWithLarge(served, '/left')
      left.socket.destroy()
      await expect.poll(() => served.closed.has('/left'), { timeout: 60_000 }).toBe(true)
      await stallWithLarge(served, '/cut')
      cut()
      await expect.poll(() => served.closed.has('/cut'), { timeout: 60_000 }).toBe(true)
      const whole = await served.server.open()
      expect((await whole.send(request('GET /whole', FORWARDED)).answer()).body.equals(bytes)).toBe(true)
      const memory = ['/left', '/cut', '/whole'].map((path) => largeMemory(served.reads(path)))
      expect(memory.map(({ size }) => size)).toEqual([2, 2, 2])
      expect(new Set(memory.flatMap((each) => [...each])).size).toBe(6)
    })

    it('never carry bytes of one download into another, however they end', async () => {
      const contents = [1, 2, 3, 4, 5].map((number) => contentOf(number, (3 + number) * MIB + number * 1_001))
      const cuts = new Map<string, () => void>()
      const served = await serve((path) => contentAt(contents, path), {
        transport,
        limits: { ...QUICK, largeFramesBytes: 5 * MIB },
        change: (path) => ({
          onAbort: (abort) => void cuts.set(path, abort),
          ...(path.endsWith('range') ? { ranges: [{ start: 5, end: 2_500_000 }] } : {}),
          ...(path.endsWith('broken') ? { failsAt: 2_900_000 } : {}),
          ...(path.endsWith('outdated') ? { isCurrent: () => Promise.resolve(false) } : {}),
        }),
      })
      const random = seededRandom(20_261_115)
      const outcomes = new Map<string, number>()
      let begun = 0
      async function client(): Promise<void> {
        while (begun < 80) {
          const kind = random.pick(KINDS)
          begun += 1
          const path = `/${begun % contents.length}/${begun}/${kind}`
          const content = contentAt(contents, path)
          const expected = kind === 'range' ? content.subarray(5, 2_500_001) : content
          const stopAt = random.between(0, expected.length - 1)
          const isWhole = await read(served.server, path, transport, expected, (bytes, answer) => {
            if (bytes < stopAt) return
            if (kind === 'left') answer.destroy()
            if (kind === 'cut') cuts.get(path)?.()
            if (kind === 'slow' && random.chance(0.05)) return wait(20)
          })
          if (['whole', 'range', 'slow'].includes(kind)) expect([path, isWhole]).toEqual([path, true])
          if (['broken', 'outdated'].includes(kind)) expect([path, isWhole]).toEqual([path, false])
          outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1)
        }
      }
      await Promise.all(Array.from({ length: 10 }, client))
      expect([...outcomes.keys()].sort()).toEqual([...new Set(KINDS)].sort())
      expect(served.server.logged.every(({ fields }) => String(fields['cause']).includes('the disk'))).toBe(
        true,
      )
    })
  },
)

const KINDS = ['whole', 'whole', 'range', 'slow', 'left', 'cut', 'broken', 'outdated'] as const

function contentAt(contents: readonly Buffer[], path: string): Buffer {
  const content = contents[Number(path.split('/')[1])]
  if (content === undefined) throw new Error(`no content at ${path}`)
  return content
}

/** Reads an answer and compares each byte that comes; tells whether all of them came. */
async function read(
  { port }: TestServer,
  path: string,
  transport: 'tls' | 'proxy',
  expected: Buffer,
  after: (bytes: number, answer: IncomingMessage) => void | Promise<void>,
): Promise<boolean> {
  const { cert } = await testCertificate()
  const answer = await new Promise<IncomingMessage | undefined>((resolve) => {
    const target = { port, host: '127.0.0.1', path, agent: false, headers: { 'X-Forwarded-Proto': 'https' } }
    const asked =
      transport === 'tls'
        ? getTls({ ...target, ca: cert, servername: 'localhost' }, resolve)
        : getPlain(target, resolve)
    // A connection that is cut may be reset before its head was read.
    asked.on('error', () => resolve(undefined))
  })
  if (answer === undefined) return false
  let bytes = 0
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      const isRight = chunk.equals(expected.subarray(bytes, bytes + chunk.length))
      if (!isRight) throw new WrongBytes(`${path} has wrong bytes behind ${bytes}`)
      bytes += chunk.length
      const pause = after(bytes, answer)
      if (pause !== undefined) await pause
    }
  } catch (error) {
    if (error instanceof WrongBytes) throw error
  }
  return answer.complete && bytes === expected.length
}

class WrongBytes extends Error {}
