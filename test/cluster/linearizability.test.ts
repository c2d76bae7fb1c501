import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { setTimeout as delay } from 'node:timers/promises'
import { isLinearizable } from '../support/linearizability.js'
import type { Answer, Client } from '../support/client.js'
import { startTrio, type Trio } from '../support/trio.js'
import { fileModel, type FileInput, type FileOperation, type FileOutput } from './file-model.js'

/** CHAOS_SECONDS=600 makes a long run of it. */
const SECONDS = Number(process.env['CHAOS_SECONDS'] ?? 20)
const CLIENTS = 6
/** Files that are used at the same time; one that is deleted makes room for the next. */
const FILES_AT_ONCE = 3
const FILES = 20 + 2 * SECONDS
const LARGE_BYTES = 70_000

describe('the judge of histories', () => {
  /** An operation as `[called, answered, input, output]`; without output the answer was lost. */
  type Line = readonly [number, number, FileInput, FileOutput?]
  const judge = (...lines: readonly Line[]): boolean =>
    isLinearizable(
      fileModel('a'),
      lines.map(([calledAt, answeredAt, input, output]) => ({ calledAt, answeredAt, input, output })),
    )
  const read: FileInput = { verb: 'read' }
  const remove: FileInput = { verb: 'delete' }
  const write = (content: string, expected?: string): FileInput => ({
    verb: 'write',
    content,
    ...(expected === undefined ? {} : { expected }),
  })
  const saw = (content: string): FileOutput => ({ status: 200, content })
  const done: FileOutput = { status: 204 }
  const gone: FileOutput = { status: 404 }
  const stale: FileOutput = { status: 412 }

  it.each<[string, boolean, Line[]]>([
    ['nothing at all', true, []],
    ['a read of what was there', true, [[1, 2, read, saw('a')]]],
    ['a read of what nobody wrote', false, [[1, 2, read, saw('z')]]],
    [
      'a read after a write that sees it',
      true,
      [
        [1, 2, write('b'), done],
        [3, 4, read, saw('b')],
      ],
    ],
    [
      'a read after a write that does not see it',
      false,
      [
        [1, 2, write('b'), done],
        [3, 4, read, saw('a')],
      ],
    ],
    [
      'a read during a write that sees it',
      true,
      [
        [1, 9, write('b'), done],
        [3, 4, read, saw('b')],
      ],
    ],
    [
      'a read during a write that does not see it',
      true,
      [
        [1, 9, write('b'), done],
        [3, 4, read, saw('a')],
      ],
    ],
    [
      'two reads during a write, the old after the new',
      false,
      [
        [1, 9, write('b'), done],
        [2, 3, read, saw('b')],
        [4, 5, read, saw('a')],
      ],
    ],
    [
      'two reads at once during a write, one old and one new',
      true,
      [
        [1, 9, write('b'), done],
        [2, 5, read, saw('b')],
        [3, 6, read, saw('a')],
      ],
    ],
    [
      'two winners of one condition',
      false,
      [
        [1, 5, write('b', 'a'), done],
        [1, 5, write('c', 'a'), done],
      ],
    ],
    [
      'one winner and one loser of one condition',
      true,
      [
        [1, 5, write('b', 'a'), done],
        [1, 5, write('c', 'a'), stale],
        [6, 7, read, saw('b')],
      ],
    ],
    ['a loser without a winner', false, [[1, 5, write('c', 'a'), stale]]],
    [
      'a loser whose winner came only later',
      false,
      [
        [1, 2, write('c', 'a'), stale],
        [3, 4, write('b', 'a'), done],
      ],
    ],
    [
      'a lost write that is seen',
      true,
      [
        [1, 2, write('b')],
        [3, 4, read, saw('b')],
      ],
    ],
    [
      'a lost write that is not seen',
      true,
      [
        [1, 2, write('b')],
        [3, 4, read, saw('a')],
      ],
    ],
    [
      'a lost write that is seen late',
      true,
      [
        [1, 2, write('b')],
        [3, 4, read, saw('a')],
        [5, 6, read, saw('b')],
      ],
    ],
    [
      'a lost write that comes and goes',
      false,
      [
        [1, 2, write('b')],
        [3, 4, read, saw('b')],
        [5, 6, read, saw('a')],
      ],
    ],
    [
      'a lost write that is seen before its call',
      false,
      [
        [1, 2, read, saw('b')],
        [3, 4, write('b')],
      ],
    ],
    [
      'a lost write that makes another one lose',
      true,
      [
        [1, 2, write('b', 'a')],
        [3, 4, write('c', 'a'), stale],
      ],
    ],
    [
      'a lost write that counted twice',
      false,
      [
        [1, 2, write('b', 'a')],
        [3, 4, read, saw('b')],
        [5, 6, write('a', 'b'), done],
        [7, 8, read, saw('b')],
      ],
    ],
    [
      'two lost writes that build on one another',
      true,
      [
        [1, 2, write('b', 'a')],
        [3, 4, write('c', 'b')],
        [5, 6, read, saw('c')],
      ],
    ],
    [
      'a deleted file that is gone',
      true,
      [
        [1, 2, remove, done],
        [3, 4, read, gone],
        [5, 6, write('b'), gone],
      ],
    ],
    [
      'a deleted file that comes back',
      false,
      [
        [1, 2, remove, done],
        [3, 4, read, saw('a')],
      ],
    ],
    ['a file that is gone without a cause', false, [[1, 2, read, gone]]],
    [
      'a file that is deleted twice',
      false,
      [
        [1, 5, remove, done],
        [2, 6, remove, done],
      ],
    ],
    [
      'a lost delete that happened',
      true,
      [
        [1, 2, remove],
        [3, 4, read, saw('a')],
        [5, 6, write('b'), gone],
      ],
    ],
    [
      'a write between a lost delete and its effect',
      true,
      [
        [1, 2, remove],
        [3, 4, write('b'), done],
        [5, 6, read, saw('b')],
        [7, 8, read, gone],
      ],
    ],
  ])('knows %s', (_name, isFine, lines) => {
    expect(judge(...lines)).toBe(isFine)
    expect(judge(...[...lines].reverse())).toBe(isFine)
  })

  it('is done in time with a long history in which answers are lost', () => {
    const lines: Line[] = []
    for (let count = 0; count < 2_000; count += 1) {
      const at = count * 10
      const before = count === 0 ? 'a' : `v${count - 1}`
      lines.push([at, at + 12, write(`v${count}`, before), done])
      lines.push([at, at + 9, write(`x${count}`, `v${count}`), stale])
      lines.push([at + 3, at + 14, read, saw(`v${count}`)])
      if (count % 20 === 0) lines.push([at, at + 5, write(`lost${count}`, before)])
    }
    // Each write is called before the one that it builds on is answered, so much is left open.
    expect(judge(...lines)).toBe(true)
    expect(judge(...lines, [30_000, 30_001, read, saw('v3')])).toBe(false)
  })
})

describe('files of three nodes', () => {
  let trio: Trio
  beforeAll(async () => {
    trio = await startTrio()
  })
  afterAll(() => trio.stop())

  const contentOf = (word: string, isLarge: boolean): string =>
    `${word};${isLarge ? '.'.repeat(LARGE_BYTES) : ''}`
  const wordOf = (text: string): string => text.slice(0, text.indexOf(';'))

  it('have exactly one winner when writers of all nodes state the same condition', async () => {
    for (let round = 0; round < 12; round += 1) {
      const isLarge = round % 3 === 0
      const file = await trio.at(round % 3).file(`contested ${round}`, 'root', contentOf('first', isLarge))
      const tag = String((await trio.at(0).get(`/files/${file}/content`)).headers.etag)
      const answers = await Promise.all(
        Array.from({ length: 9 }, (_, index) =>
          trio.at(index % 3).upload(file, contentOf(`by ${index}`, isLarge), { 'If-Match': tag }),
        ),
      )
      const winners = answers.flatMap(({ status }, index) => (status === 204 ? [index] : []))
      expect(winners.length, JSON.stringify(answers.map(({ status }) => status))).toBe(1)
      expect(answers.filter(({ status }) => status === 412).length).toBe(8)
      for (const reader of trio.everywhere()) {
        expect(wordOf((await reader.get(`/files/${file}/content`)).text)).toBe(`by ${winners[0]}`)
      }
    }
  })

  it('are one file each to all clients, while nodes are killed and come back', async () => {
    const folder = await trio.at(0).folder('histories')
    const files: string[] = []
    while (files.length < FILES) {
      const batch = Array.from({ length: 10 }, (_, index) =>
        trio.at(index % 3).file(`file ${files.length + index}`, folder, contentOf('first', false)),
      )
      files.push(...(await Promise.all(batch)))
    }
    const histories = new Map<string, FileOperation[]>(files.map((file) => [file, []]))
    const inUse = files.splice(0, FILES_AT_ONCE)
    let isOver = false
    let words = 0

    /** Undefined for a lost answer; throws for one that there should not be. */
    function outputOf(answer: Answer): FileOutput | undefined {
      if (answer.isCut || answer.status === 503) return undefined
      if (answer.status === 200) return { status: 200, content: wordOf(answer.text) }
      if (answer.status === 204 || answer.status === 404 || answer.status === 412)
        return { status: answer.status }
      throw new Error(`an answer that there should not be: ${answer.status} ${answer.text}`)
    }

    /** Puts one operation on record. What was never sent is none, and a lost read says nothing. */
    async function record(
      file: string,
      input: FileInput,
      ask: () => Promise<Answer>,
    ): Promise<Answer | undefined> {
      const calledAt = performance.now()
      let answer: Answer | undefined
      try {
        answer = await ask()
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED') return undefined
      }
      const answeredAt = performance.now()
      const output = answer === undefined ? undefined : outputOf(answer)
      if (output !== undefined || input.verb !== 'read') {
        histories.get(file)?.push({ input, output, calledAt, answeredAt })
      }
      return output === undefined ? undefined : answer
    }

    async function useOnce(slot: number, random: number, api: Client): Promise<void> {
      const file = inUse[slot] ?? ''
      const content = `w${(words += 1)}`
      const write = (headers: Record<string, string>, input: FileInput): Promise<Answer | undefined> =>
        record(file, input, () => api.upload(file, contentOf(content, words % 8 === 0), headers))
      if (random < 0.01) await record(file, { verb: 'delete' }, () => api.delete(`/files/${file}`))
      else if (random < 0.05) await write({}, { verb: 'write', content })
      const seen = await record(file, { verb: 'read' }, () => api.get(`/files/${file}/content`))
      if (seen?.status === 404 && inUse[slot] === file) inUse[slot] = files.shift() ?? file
      if (seen?.status !== 200 || random < 0.4) return
      const expected = wordOf(seen.text)
      await write({ 'If-Match': String(seen.headers.etag) }, { verb: 'write', content, expected })
    }

    const failures: unknown[] = []
    const clients = Array.from({ length: CLIENTS }, async () => {
      for (; !isOver && failures.length === 0; await delay(Math.random() * 20)) {
        const slot = Math.floor(Math.random() * FILES_AT_ONCE)
        const api = trio.at(Math.floor(Math.random() * 3))
        await useOnce(slot, Math.random(), api).catch((error: unknown) => failures.push(error))
      }
    })
    const count = (is: (operation: FileOperation) => boolean): number =>
      [...histories.values()].flat().filter(is).length
    /** A history in which too little happened proves little, however slow the machine is. */
    const hasWinnersAndLosers = (): boolean =>
      count(({ output }) => output?.status === 204) > 50 && count(({ output }) => output?.status === 412) > 0
    const end = performance.now() + SECONDS * 1000
    const isEnough = (): boolean => performance.now() >= end && hasWinnersAndLosers()
    for (let kills = 0; !isEnough() && failures.length === 0; kills += 1) {
      await delay(500 + Math.random() * 1_500)
      await trio.node(kills % 3).kill()
      await delay(Math.random() * 500)
      await trio.node(kills % 3).restart()
    }
    isOver = true
    await Promise.all(clients)
    expect(failures).toEqual([])

    expect(hasWinnersAndLosers()).toBe(true)
    for (const [file, history] of histories) {
      const wonOn = history.flatMap(({ input, output }) =>
        input.verb === 'write' && input.expected !== undefined && output?.status === 204
          ? [input.expected]
          : [],
      )
      expect(new Set(wonOn).size, `winners of ${file}`).toBe(wonOn.length)
      expect(isLinearizable(fileModel('first'), history), `history of ${file}`).toBe(true)
    }
    expect((await trio.node(0).command('check')).stdout).toBe('no broken invariant\n')
  })
})
