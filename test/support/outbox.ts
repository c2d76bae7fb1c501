/** Mails that a server has written to its outbox. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Whole ones alone: one that is being written has another name until it is there. Long lines are put together again. */
export async function writtenMails(dataDir: string): Promise<string[]> {
  const outbox = join(dataDir, 'outbox')
  const names = (await readdir(outbox).catch(() => [])).filter((name) => name.endsWith('.eml'))
  const mails = await Promise.all(names.map((name) => readFile(join(outbox, name), 'utf8')))
  return mails.map((mail) => mail.replace(/=\r?\n/g, '').replaceAll('=3D', '='))
}
