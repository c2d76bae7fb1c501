import type { Db, Tx } from '../db/db.js'
import { deleteMail, insertMail, listDueMails, setMailDue, takeMail, type MailRow } from '../db/mails.js'
import { randomHex } from '../model/secrets.js'

const MAIL_ID_BYTES = 16
const MAILS_AT_ONCE = 20
const TRIES_MAX = 12
const STOP_MAX_MS = 2_000
const WAIT_MAX_MS = 4 * 60 * 60 * 1000
/** Longer than a delivery may take: a mail whose sender died is tried by the next one after that. */
const TRY_MAX_MS = 5 * 60 * 1000

export interface Mail {
  readonly to: string
  readonly subject: string
  readonly body: string
}

/** Brings one mail on its way; throws when it could not. */
export interface MailTransport {
  send(mail: Mail & { readonly id: string; readonly createdMs: number }): Promise<void>
  close(): void
}

/** Thrown by a transport when another try would end the same way. */
export class MailRefused extends Error {}

/** The mail goes out if and when the transaction is durable, and whatever becomes of it, no request fails for it. */
export async function queueMail(tx: Tx, mail: Mail, nowMs: number): Promise<void> {
  const id = randomHex(MAIL_ID_BYTES)
  await insertMail(tx, { id, recipient: mail.to, subject: mail.subject, body: mail.body }, nowMs)
}

export interface MailDeps {
  readonly db: Db
  readonly now: () => number
  readonly transport: MailTransport
  /** The wait after the first failure; it doubles with each further one. */
  readonly retryMs: number
  readonly complain: (message: string, error: unknown) => void
}

export interface Postman {
  /** Tries every mail that is due, once; gives the number that went out. */
  deliver(): Promise<number>
  /** No further mail is begun, and the one under way is waited for no longer than a moment. */
  stop(): void
}

export function postman({ db, now, transport, retryMs, complain }: MailDeps): Postman {
  const stopped = new AbortController()

  /** A process that dies in between leaves the mail to the next one: it is never lost and hardly ever sent twice. */
  async function attempt(mail: MailRow): Promise<boolean> {
    const waitMs = Math.min(retryMs * 2 ** mail.tries, WAIT_MAX_MS)
    const isOurs = await db.write((tx) => takeMail(tx, mail, now() + TRY_MAX_MS))
    if (!isOurs) return false
    const { id, recipient: to, subject, body, created_ms: createdMs } = mail
    try {
      await transport.send({ id, to, subject, body, createdMs })
    } catch (error) {
      const isHopeless = error instanceof MailRefused || mail.tries + 1 >= TRIES_MAX
      complain(isHopeless ? 'a mail was given up' : 'a mail could not be sent and is tried again', error)
      await db.write((tx) => (isHopeless ? deleteMail(tx, id) : setMailDue(tx, id, now() + waitMs)))
      return false
    }
    await db.write((tx) => deleteMail(tx, id))
    return true
  }

  return {
    async deliver() {
      const due = await db.read((tx) => listDueMails(tx, now(), MAILS_AT_ONCE))
      let sent = 0
      for (const mail of due) {
        if (stopped.signal.aborted) break
        if (await unlessStopped(attempt(mail), stopped.signal)) sent += 1
      }
      return sent
    },

    stop() {
      stopped.abort()
      transport.close()
    },
  }
}

/** What comes of the work, or false when it takes too long after the stop. A mail left that way is tried again later. */
function unlessStopped(work: Promise<boolean>, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => void setTimeout(() => resolve(false), STOP_MAX_MS)
    signal.addEventListener('abort', giveUp, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp))
  })
}
