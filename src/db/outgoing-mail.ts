import type { Tx } from './db.js'

export async function insertOutgoingMail(
  tx: Tx,
  mail: { id: string; to: string; subject: string; body: string },
  nowMs: number,
): Promise<void> {
  await tx.run(
    'INSERT INTO mails (id, recipient, subject, body, due_ms, created_ms) VALUES ($1, $2, $3, $4, $5, $5)',
    mail.id,
    mail.to,
    mail.subject,
    mail.body,
    nowMs,
  )
}
