import { readdir, readFile, stat } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { SMTPServer } from 'smtp-server'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { MailRefused, postman, queueMail, type MailTransport } from '../../src/service/mail.js'
import { ENGINES, openTestDb, type TestDb } from '../support/engines.js'
import { startServer, type TestServer } from '../support/server.js'

const WAIT_MAX_MS = 30_000

interface Received {
  readonly from: string
  readonly to: readonly string[]
  readonly text: string
}

interface TestMailbox {
  readonly received: Received[]
  /** The statuses of the next mails; 250 when there are none left. */
  readonly answers: number[]
  stop(): Promise<void>
}

async function startMailbox(port: number): Promise<TestMailbox> {
  const received: Received[] = []
  const answers: number[] = []
  const refusal = (status: number): Error => Object.assign(new Error('not now'), { responseCode: status })
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo(_address, _session, done) {
      const status = answers.shift() ?? 250
      done(status === 250 ? null : refusal(status))
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        received.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          text: Buffer.concat(chunks).toString('utf8'),
        })
        done()
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    received,
    answers,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}

async function until<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const end = Date.now() + WAIT_MAX_MS
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (Date.now() > end) throw new Error('it did not happen')
    await delay(50)
  }
}

async function invite(server: TestServer, emailTo: string): Promise<string> {
  const person = await server.person('user.read')
  const answer = await person.api.post('/invitees', { email_to: emailTo })
  expect(answer.status).toBe(201)
  return String(answer.json['signup_code'])
}

async function waitingMails(server: TestServer): Promise<number> {
  const row = await server.installation.db.read((tx) =>
    tx.get<{ count: number }>('SELECT COUNT(*) AS count FROM mails'),
  )
  return row?.count ?? -1
}

describe.each(ENGINES)('mails of a node on %s', (engine) => {
  test('are files of the outbox where no server for mails is set, whole and readable by the owner alone', async () => {
    const server = await startServer(engine)
    try {
      const code = await invite(server, 'zoë@x.test')
      const folder = join(server.dataDir, 'outbox')
      const [name = ''] = await until(async () => {
        const names = await readdir(folder).catch(() => [])
        return names.some((each) => each.endsWith('.eml')) ? names : undefined
      })
      const text = await readFile(join(folder, name), 'utf8')
      expect(text).toContain(code)
      expect((await stat(join(folder, name))).mode & 0o077).toBe(0)
      expect(text).toMatch(/^To: .*x\.test/m)
      expect(text).toMatch(/^From: starling@localhost/m)
      await until(async () => ((await waitingMails(server)) === 0 ? true : undefined))
      expect((await readdir(folder)).length).toBe(1)
    } finally {
      await server.stop()
    }
  })

  test('go out by SMTP, are tried again after a failure, and fail no request', async () => {
    const port = await freePort()
    const server = await startServer(engine, {
      args: [
        '--smtp',
        `smtp://127.0.0.1:${port}`,
        '--mail-from',
        'Starling <noreply@x.test>',
        '--mail-retry',
        '1',
      ],
    })
    let mailbox: TestMailbox | undefined
    try {
      // Nobody listens yet: the request is none the worse for it.
      const code = await invite(server, 'late@x.test')
      await until(() => (server.log().includes('tried again') ? true : undefined))
      mailbox = await startMailbox(port)
      mailbox.answers.push(451)
      const { received } = mailbox
      const mail = await until(() => received[0])
      expect([mail.from, mail.to]).toEqual(['noreply@x.test', ['late@x.test']])
      expect(mail.text).toContain(code)
      await until(async () => ((await waitingMails(server)) === 0 ? true : undefined))
      expect(received.length).toBe(1)
      // What a server refuses for good is given up.
      mailbox.answers.push(550)
      await invite(server, 'nobody@x.test')
      await until(() => (server.log().includes('given up') ? true : undefined))
      await until(async () => ((await waitingMails(server)) === 0 ? true : undefined))
      expect(received.length).toBe(1)
    } finally {
      await mailbox?.stop()
      await server.stop()
    }
  })
})

describe.each(ENGINES)('the postman on %s', (engine) => {
  let database: TestDb
  let nowMs = 1_000_000
  const complaints: string[] = []

  beforeEach(async () => {
    database = await openTestDb(engine)
    complaints.length = 0
  })
  afterEach(() => database.close())

  function postmanWith(send: MailTransport['send']): ReturnType<typeof postman> {
    return postman({
      db: database.db,
      now: () => nowMs,
      transport: { send, close: () => undefined },
      retryMs: 60_000,
      complain: (message) => complaints.push(message),
    })
  }

  const queue = (to: string): Promise<void> =>
    database.db.write((tx) => queueMail(tx, { to, subject: 'S', body: 'B' }, nowMs))

  test('waits longer after each failure and gives up in the end', async () => {
    await queue('a@x.test')
    const failing = postmanWith(() => Promise.reject(new Error('away')))
    const waits: number[] = []
    for (let tries = 0; tries < 12; tries += 1) {
      const fromMs = nowMs
      expect(await failing.deliver()).toBe(0)
      const row = await database.db.read((tx) => tx.get<{ due_ms: number }>('SELECT due_ms FROM mails'))
      if (row === undefined) break
      waits.push(row.due_ms - fromMs)
      nowMs = row.due_ms - 1
      expect(await postmanWith(() => Promise.reject(new Error('too early'))).deliver()).toBe(0)
      nowMs = row.due_ms
    }
    expect(waits.slice(0, 4)).toEqual([60_000, 120_000, 240_000, 480_000])
    expect(Math.max(...waits)).toBe(4 * 60 * 60 * 1000)
    expect(complaints.at(-1)).toMatch(/given up/)
    expect(complaints.length).toBe(12)
  })

  test('does not try again what is refused for good', async () => {
    await queue('a@x.test')
    await postmanWith(() => Promise.reject(new MailRefused('no such mailbox'))).deliver()
    expect(await database.db.read((tx) => tx.all('SELECT id FROM mails'))).toEqual([])
  })

  test('sends a mail once although two carry mails at the same moment', async () => {
    for (let number = 0; number < 10; number += 1) await queue(`p${number}@x.test`)
    const sent: string[] = []
    const slow = (): ReturnType<typeof postman> =>
      postmanWith(async ({ to }) => {
        await delay(5)
        sent.push(to)
      })
    const counts = await Promise.all([slow().deliver(), slow().deliver()])
    expect(counts[0] + counts[1]).toBe(10)
    expect(new Set(sent).size).toBe(10)
    expect(sent.length).toBe(10)
  })

  test('leaves a mail whose carrier died to the next one', async () => {
    await queue('a@x.test')
    const stuck = postmanWith(() => new Promise(() => undefined))
    void stuck.deliver()
    await until(async () => {
      const row = await database.db.read((tx) => tx.get<{ tries: number }>('SELECT tries FROM mails'))
      return row?.tries === 1 ? true : undefined
    })
    const sent: string[] = []
    const next = postmanWith(({ to }) => Promise.resolve(void sent.push(to)))
    expect(await next.deliver()).toBe(0)
    nowMs += 5 * 60 * 1000
    expect(await next.deliver()).toBe(1)
    expect(sent).toEqual(['a@x.test'])
  })
})
