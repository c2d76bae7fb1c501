import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Answer, Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { bytesOf, expectBytes, expectEmpty, STRONG_TAG, useServer, VERSIONS } from './support.js'

interface Part {
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

/** A multipart body by RFC 2046; throws when anything of its form is wrong. */
function parseMultipart(answer: Answer): Part[] {
  const boundary = /^multipart\/byteranges; boundary=([0-9A-Za-z'()+_,./:=?-]{1,70})$/.exec(
    String(answer.headers['content-type']),
  )?.[1]
  if (boundary === undefined) throw new Error(`no multipart: ${answer.headers['content-type']}`)
  const bytes = answer.body.toString('latin1')
  const sections = `\r\n${bytes.startsWith('\r\n') ? bytes.slice(2) : bytes}`.split(`\r\n--${boundary}`)
  expect(sections.shift()).toBe('')
  expect(sections.pop()).toMatch(/^--(\r\n)?$/)
  return sections.map((section) => {
    expect(section.startsWith('\r\n')).toBe(true)
    const end = section.indexOf('\r\n\r\n')
    expect(end).toBeGreaterThan(0)
    const lines = section.slice(2, end).split('\r\n')
    const headers = new Map(
      lines.map((line) => [line.split(': ')[0]?.toLowerCase() ?? '', line.split(': ')[1] ?? '']),
    )
    return { headers, body: Buffer.from(section.slice(end + 4), 'latin1') }
  })
}

/** `a-b/n` of every part, in order; its bytes are checked against the content. */
function partsOf(answer: Answer, content: Buffer): string[] {
  return parseMultipart(answer).map(({ headers, body }) => {
    expect(headers.get('content-type')).toBe('application/octet-stream')
    const range = headers.get('content-range') ?? ''
    const [, first, last] = /^bytes (\d+)-(\d+)\/\d+$/.exec(range) ?? []
    expectBytes(body, content.subarray(Number(first), Number(last) + 1))
    return range.replace('bytes ', '')
  })
}

describe.each(ENGINES)('a range of a download on %s', (engine) => {
  const server = useServer(engine)
  let api: Client
  let hello: string
  let tag: string

  beforeAll(async () => {
    api = (await server().person()).api
    hello = await api.file('hello.txt', 'root', 'hello')
    tag = String((await api.head(`/files/${hello}/content`)).headers.etag)
  })

  const ranged = (range: string, headers: Record<string, string> = {}): Promise<Answer> =>
    api.get(`/files/${hello}/content`, { Range: range, ...headers })

  function expectWhole(answer: Answer): void {
    expect(answer.status).toBe(200)
    expect(answer.text).toBe('hello')
    expect(answer.headers['content-range']).toBeUndefined()
    expect(answer.headers['content-disposition']).toBeDefined()
  }

  function expectPart(answer: Answer, first: number, last: number): void {
    expect(answer.status).toBe(206)
    expect(answer.headers['content-range']).toBe(`bytes ${first}-${last}/5`)
    expect(answer.text).toBe('hello'.slice(first, last + 1))
    expect(answer.headers['content-type']).toBe('application/octet-stream')
    expect(answer.headers['content-disposition']).toBeUndefined()
    expect(answer.headers.etag).toBe(tag)
  }

  it.each(VERSIONS)('is 206 with its own headers in version %s [DOWN-20] [ETAG-2]', async (version) => {
    const client = server().client(api.token, version)
    const answer = await client.get(`/files/${hello}/content`, { Range: 'bytes=0-1' })
    expectPart(answer, 0, 1)
    expect(answer.headers.etag).toMatch(STRONG_TAG)
    expect(answer.headers['accept-ranges']).toBe('bytes')
    expect(answer.headers['x-content-type-options']).toBe('nosniff')
    expect(answer.headers['content-length']).toBeUndefined()
    expect(answer.headers['transfer-encoding']).toBe('chunked')
  })

  it.each<[string, number, number, string]>([
    ['bytes=1-', 1, 4, '[DOWN-21]'],
    ['bytes=-2', 3, 4, '[DOWN-21]'],
    ['bytes=4-4', 4, 4, '[DOWN-21]'],
    ['bytes=0-100', 0, 4, '[DOWN-22]'],
    ['bytes=0-99999999999999999999', 0, 4, '[DOWN-22]'],
    ['bytes=-10', 0, 4, '[DOWN-23]'],
    ['bytes=-99999999999999999999', 0, 4, '[DOWN-23]'],
    ['bytes=0-4', 0, 4, '[DOWN-24]'],
    ['bytes=0-', 0, 4, '[DOWN-24]'],
    ['bytes=0-1,', 0, 1, '[DOWN-27]'],
    ['bytes=,0-1', 0, 1, '[DOWN-27]'],
    ['Bytes=0-1', 0, 1, '[DOWN-27]'],
    ['BYTES=0-1', 0, 1, '[DOWN-27]'],
    ['bytes=0-1,9-10', 0, 1, '[DOWN-30]'],
    ['bytes=9-10,-1', 4, 4, '[DOWN-30]'],
    ['bytes=0-2,1-3', 0, 3, '[DOWN-31]'],
    ['bytes=0-2,3-', 0, 4, '[DOWN-31]'],
    ['bytes=3-,0-2', 0, 4, '[DOWN-31]'],
  ])('asked for as %s is the one part %i to %i %s', async (range, first, last) => {
    expectPart(await ranged(range), first, last)
  })

  it.each<[string, string]>([
    ['bytes=1-0', '[DOWN-25]'],
    ['bytes=a-b', '[DOWN-25]'],
    ['bytes=-', '[DOWN-25]'],
    ['bytes=', '[DOWN-25]'],
    ['bytes=,', '[DOWN-25]'],
    ['bytes=0--1', '[DOWN-25]'],
    ['bytes 0-1', '[DOWN-25]'],
    ['0-1', '[DOWN-25]'],
    ['items=0-1', '[DOWN-25]'],
    ['bytes=0-1;3-4', '[DOWN-25]'],
    ['bytes=2-1,0-0', '[DOWN-26]'],
    ['bytes=0-0,2-1', '[DOWN-26]'],
  ])('asked for as the invalid %s is ignored %s', async (range) => {
    expectWhole(await ranged(range))
  })

  it.each(['bytes=5-', 'bytes=5-6', 'bytes=9-10,8-', 'bytes=99999999999999999999-', 'bytes=-0'])(
    'asked for as %s overlaps nothing and is 416 without a body [DOWN-28]',
    async (range) => {
      const answer = await ranged(range)
      expectEmpty(answer, 416)
      expect(answer.headers['content-range']).toBe('bytes */5')
    },
  )

  it('of empty content is 416 [DOWN-29]', async () => {
    const empty = await api.file('empty.txt', 'root', '')
    for (const range of ['bytes=0-', 'bytes=0-0', 'bytes=-1', 'bytes=-5,0-1']) {
      const answer = await api.get(`/files/${empty}/content`, { Range: range })
      expectEmpty(answer, 416)
      expect(answer.headers['content-range']).toBe('bytes */0')
    }
    expectEmpty(await api.get(`/files/${empty}/content`, { Range: 'bytes=1-0' }), 200)
  })

  it.each<[string, string]>([
    ['bytes=0-1,3-', '[DOWN-32] [DOWN-33]'],
    ['bytes=3-,0-1', '[DOWN-34]'],
    ['bytes=0-1, 3-4', '[DOWN-27]'],
    ['bytes=0-1,,3-4,9-', '[DOWN-27] [DOWN-30]'],
  ])('asked for as %s is two parts in ascending order %s', async (range) => {
    const answer = await ranged(range)
    expect(answer.status).toBe(206)
    expect(answer.headers['content-range']).toBeUndefined()
    expect(answer.headers['content-disposition']).toBeUndefined()
    expect(answer.headers.etag).toBe(tag)
    expect(answer.headers['content-length']).toBeUndefined()
    expect(partsOf(answer, Buffer.from('hello'))).toEqual(['0-1/5', '3-4/5'])
  })

  it('is served up to 64 times in one answer and not at all beyond [DOWN-35]', async () => {
    const content = bytesOf(300_000, 35)
    const id = await api.file('large.bin', 'root', content)
    const disjoint = (count: number): string =>
      `bytes=${Array.from({ length: count }, (_, index) => `${index * 4000}-${index * 4000 + 1999}`).join(',')}`
    const many = await api.get(`/files/${id}/content`, { Range: disjoint(64) })
    expect(many.status).toBe(206)
    expect(partsOf(many, content)).toHaveLength(64)
    const tooMany = await api.get(`/files/${id}/content`, { Range: disjoint(65) })
    expect(tooMany.status).toBe(200)
    expectBytes(tooMany.body, content)
    const touching = Array.from({ length: 1000 }, (_, index) => `${index * 5}-${index * 5 + 4}`).join(',')
    const merged = await api.get(`/files/${id}/content`, { Range: `bytes=${touching}` })
    expect(merged.status).toBe(206)
    expect(merged.headers['content-range']).toBe('bytes 0-4999/300000')
    expectBytes(merged.body, content.subarray(0, 5000))
  })

  it('is honoured when If-Range is the current content tag in any spelling [DOWN-36]', async () => {
    for (const spelling of [tag, tag.slice(1, -1), `W/${tag}`]) {
      expectPart(await ranged('bytes=1-2', { 'If-Range': spelling }), 1, 2)
    }
  })

  it('is ignored when If-Range is anything else [DOWN-37]', async () => {
    const metadata = await api.get(`/files/${hello}`)
    const modified = String((await api.head(`/files/${hello}/content`)).headers['last-modified'])
    for (const other of [
      '"other"',
      '*',
      modified,
      String(metadata.headers.etag),
      tag.slice(0, -1),
      `'${tag.slice(1, -1)}'`,
      `"other", ${tag}`,
      `${tag}, ${tag}`,
    ]) {
      expectWhole(await ranged('bytes=1-2', { 'If-Range': other }))
      expectWhole(await ranged('bytes=9-', { 'If-Range': other }))
    }
  })

  it('takes an empty If-Range for none, and If-Range without Range for nothing [DOWN-38]', async () => {
    expectPart(await ranged('bytes=1-2', { 'If-Range': '' }), 1, 2)
    expectPart(await ranged('bytes=1-2', { 'If-Range': ' ' }), 1, 2)
    for (const value of [tag, '"other"']) {
      expectWhole(await api.get(`/files/${hello}/content`, { 'If-Range': value }))
    }
  })

  it('is ignored by the JSON routes [DOWN-39]', async () => {
    for (const path of [
      `/files/${hello}`,
      '/folders/root',
      '/folders/root/children',
      `/files/${hello}/path`,
    ]) {
      const plain = await api.get(path)
      const answer = await api.get(path, {
        Range: 'bytes=0-1',
        'If-Range': String(plain.headers.etag ?? '"x"'),
      })
      expect(answer.status).toBe(200)
      expect(answer.json).toEqual(plain.json)
      expect(answer.headers['content-range']).toBeUndefined()
    }
  })

  it('is what slicing the content gives, for any list of ranges [DOWN-21] [DOWN-28] [DOWN-31] [DOWN-33]', async () => {
    const contents = [0, 1, 5, 180].map((size) => bytesOf(size, size))
    const files = await Promise.all(
      contents.map((content, index) => api.file(`sliced-${index}`, 'root', content)),
    )
    const position = fc.integer({ min: 0, max: 200 })
    const spec = fc.oneof(
      fc.tuple(position, position).map(([first, length]) => ({ first, last: first + length })),
      position.map((first) => ({ first, last: undefined })),
      position.map((suffix) => ({ suffix })),
    )
    const specs = fc.array(spec, { minLength: 1, maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(fc.nat(contents.length - 1), specs, async (index, list) => {
        const content = contents[index] ?? Buffer.alloc(0)
        const covered = new Set<number>()
        const texts = list.map((one) => {
          const start = 'suffix' in one ? Math.max(0, content.length - one.suffix) : one.first
          const end =
            'suffix' in one ? content.length - 1 : Math.min(one.last ?? Infinity, content.length - 1)
          for (let at = start; at <= end; at += 1) covered.add(at)
          return 'suffix' in one ? `-${one.suffix}` : `${one.first}-${one.last ?? ''}`
        })
        const runs: string[] = []
        for (let at = 0; at < content.length; at += 1) {
          if (!covered.has(at) || covered.has(at - 1)) continue
          let end = at
          while (covered.has(end + 1)) end += 1
          runs.push(`${at}-${end}/${content.length}`)
        }
        const answer = await api.get(`/files/${files[index]}/content`, { Range: `bytes=${texts.join(',')}` })
        expect(answer.status).toBe(runs.length === 0 ? 416 : 206)
        if (runs.length > 1) expect(partsOf(answer, content)).toEqual(runs)
        if (runs.length !== 1) return
        expect(answer.headers['content-range']).toBe(`bytes ${runs[0]}`)
        expectBytes(answer.body, Buffer.from(content.filter((_, at) => covered.has(at))))
      }),
      { numRuns: 150 },
    )
  })
})
