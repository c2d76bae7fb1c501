import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { normalAddress } from '../../src/model/addresses.js'
import { outboxTransport, smtpTransport } from '../../src/service/mail-transports.js'
import type { MailTransport } from '../../src/service/mail.js'

const VICTIM = 'victim@x.test'

/** Addresses that an account may have, and that mean somebody else where a header's grammar is applied to them. */
const SPELLINGS = [
  'mallory,victim@x.test',
  'mallory;victim@x.test',
  'mallory<victim@x.test>',
  '<victim@x.test',
  'victim@x.test>',
  '<victim@x.test>',
  'victim(mallory)@x.test',
  '(mallory)victim@x.test',
  'mallory:victim@x.test;',
  'victim@x.test,mallory',
  'victim@x.test(mallory)',
  '"mallory"<victim@x.test',
]

const mail = (to: string, id: string): Parameters<MailTransport['send']>[0] => ({
  to,
  id,
  subject: 'Hello',
  body: 'a code',
  createdMs: 0,
})

describe('a mail', () => {
  const reached: string[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, session, done) {
      stream.resume()
      stream.on('end', () => {
        reached.push(...session.envelope.rcptTo.map(({ address }) => address))
        done()
      })
    },
  })
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'starling-mails-'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(async () => {
    await new Promise<void>((resolve) => server.close(() => resolve()))
    await rm(folder, { recursive: true, force: true })
  })

  it('reaches the address of the account to the letter, or nobody', async () => {
    const { port } = server.server.address() as AddressInfo
    const transport = await smtpTransport(`smtp://127.0.0.1:${port}`, 'starling@x.test')
    for (const to of SPELLINGS) {
      expect(normalAddress(to)).toBe(to)
      await transport.send(mail(to, 'a')).catch(() => undefined)
    }
    expect(reached).not.toContain(VICTIM)
    await transport.send(mail(VICTIM, 'a'))
    await transport.send(mail('o’neil+files@x.test', 'a'))
    expect(reached.slice(-2)).toEqual([VICTIM, 'o’neil+files@x.test'])
    transport.close()
  })

  it('says so in its head too', async () => {
    const transport = outboxTransport(folder, 'starling@x.test')
    for (const [index, to] of SPELLINGS.entries()) {
      await transport.send(mail(to, String(index))).catch(() => undefined)
    }
    const names = await readdir(folder)
    for (const name of names) {
      const text = await readFile(join(folder, name), 'utf8')
      const line = /^To: (.*)$/m.exec(text)?.[1] ?? ''
      expect(line.replace(/^<|>$/g, '')).not.toBe(VICTIM)
      expect(line).not.toContain(`<${VICTIM}>`)
    }
    expect(names.length).toBeGreaterThan(0)
  })
})
