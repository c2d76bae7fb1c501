/** How mails leave: by SMTP, or as files where no server for mails is set. */
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MailRefused, type MailTransport } from './mail.js'

const CONNECT_MAX_MS = 20_000
const ANSWER_MAX_MS = 30_000

type Sent = Parameters<MailTransport['send']>[0]

/** The parts of a message; the same for both ways. The id makes a mail that is sent twice look like one. */
function messageOf(mail: Sent, from: string): Record<string, unknown> {
  return {
    from,
    to: mailbox(mail.to),
    subject: mail.subject,
    text: mail.body,
    date: new Date(mail.createdMs),
    messageId: `<${mail.id}@starling>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
    // A mail is text of ours: nothing in it may make the library read files or fetch addresses.
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

/** What would end an address, or begin another one, wherever it stands; and what would do so behind the `@`. */
const ENDS_ADDRESS = /[<>]|@.*[,;:()"\\]/

/** One address and nothing else: as text it would be read like a header, where commas and brackets name further people. */
function mailbox(address: string): { name: string; address: string } {
  if (ENDS_ADDRESS.test(address)) throw new MailRefused(`no mail can be sent to ${address}`)
  return { name: '', address }
}

export async function smtpTransport(url: string, from: string): Promise<MailTransport> {
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({
    url,
    connectionTimeout: CONNECT_MAX_MS,
    greetingTimeout: CONNECT_MAX_MS,
    socketTimeout: ANSWER_MAX_MS,
  })
  return {
    async send(mail) {
      try {
        await transport.sendMail(messageOf(mail, from))
      } catch (error) {
        if (isRefused(error)) throw new MailRefused(`the mail to ${mail.to} was refused`, { cause: error })
        throw error
      }
    },
    close: () => transport.close(),
  }
}

/** The server said for good that it does not take this mail: no such mailbox, and the like. */
function isRefused(error: unknown): boolean {
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown }
  return code === 'EENVELOPE' && typeof responseCode === 'number' && responseCode >= 500
}

/** One file a mail; it is there as a whole or not at all. */
export function outboxTransport(folder: string, from: string): MailTransport {
  return {
    async send(mail) {
      const { createTransport } = await import('nodemailer')
      const composer = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
      const composed = (await composer.sendMail(messageOf(mail, from))) as unknown as { message: Buffer }
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const time = new Date(mail.createdMs).toISOString().replaceAll(/[-:]/g, '').replace('.', '')
      const path = join(folder, `${time}-${mail.id}.eml`)
      await writeFile(`${path}.part`, composed.message, { mode: 0o600 })
      await rename(`${path}.part`, path)
    },
    close: () => undefined,
  }
}
