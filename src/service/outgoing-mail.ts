import type { Tx } from '../db/db.js'
import { insertOutgoingMail } from '../db/outgoing-mail.js'
import { randomHex } from '../model/secrets.js'

const MAIL_ID_BYTES = 16

/** The mail goes out if and when the transaction is durable. */
export async function queueMail(
  tx: Tx,
  mail: { to: string; subject: string; body: string },
  nowMs: number,
): Promise<void> {
  await insertOutgoingMail(tx, { id: randomHex(MAIL_ID_BYTES), ...mail }, nowMs)
}
