import type { Tx } from './db.js'

export interface MailRow {
  id: string
  recipient: string
  subject: string
  body: string
  tries: number
  due_ms: number
  created_ms: number
}

export async function insertMail(
  tx: Tx,
  mail: Pick<MailRow, 'id' | 'recipient' | 'subject' | 'body'>,
  nowMs: number,
): Promise<void> {
  await tx.run(
    'INSERT INTO mails (id, recipient, subject, body, due_ms, created_ms) VALUES ($1, $2, $3, $4, $5, $5)',
    mail.id,
    mail.recipient,
    mail.subject,
    mail.body,
    nowMs,
  )
}

export function listDueMails(tx: Tx, nowMs: number, rowsMax: number): Promise<MailRow[]> {
  return tx.all<MailRow>(
    `SELECT id, recipient, subject, body, tries, due_ms, created_ms FROM mails
     WHERE due_ms <= $1 ORDER BY due_ms, id LIMIT $2`,
    nowMs,
    rowsMax,
  )
}

/** Takes the mail for one try that ends before `dueMs`; false when somebody else took it meanwhile. */
export async function takeMail(tx: Tx, mail: MailRow, dueMs: number): Promise<boolean> {
  const changed = await tx.run(
    'UPDATE mails SET tries = tries + 1, due_ms = $3 WHERE id = $1 AND due_ms = $2',
    mail.id,
    mail.due_ms,
    dueMs,
  )
  return changed === 1
}

export async function setMailDue(tx: Tx, id: string, dueMs: number): Promise<void> {
  await tx.run('UPDATE mails SET due_ms = $2 WHERE id = $1', id, dueMs)
}

export async function deleteMail(tx: Tx, id: string): Promise<void> {
  await tx.run('DELETE FROM mails WHERE id = $1', id)
}
