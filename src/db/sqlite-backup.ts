/** A copy of a SQLite database that others go on writing to. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SQLITE_FILE_NAME } from './open.js'
import { LOCK_WAIT_MAX_MS } from './sqlite-connection.js'
import { Sqlite } from './sqlite-library.js'

export interface Snapshot {
  /** What kind of content store the installation has. */
  readonly content: string
  /** Whether content is at this place. */
  names(place: string): boolean
  /** The places of all content that is not in the database itself. */
  places(): Iterable<string>
  close(): void
}

export function hasDatabase(dataDir: string): boolean {
  return existsSync(join(dataDir, SQLITE_FILE_NAME))
}

/**
 * Writes the database as it is at one moment into a new file, without uploads in progress: what they have received stays
 * behind. A node that is started on the copy goes on with a history of its own, so the copy has an epoch of its own.
 */
export function takeSnapshot(dataDir: string, file: string, epoch: string): Snapshot {
  const database = new Sqlite(join(dataDir, SQLITE_FILE_NAME), {
    timeout: LOCK_WAIT_MAX_MS,
    fileMustExist: true,
  })
  // An empty file is filled; made by SQLite it would be for everybody's eyes.
  writeFileSync(file, '', { mode: 0o600, flag: 'wx' })
  try {
    database.pragma('wal_autocheckpoint = 0')
    database.prepare('VACUUM INTO ?').run(file)
  } finally {
    database.close()
  }
  const copy = new Sqlite(file)
  copy.pragma('foreign_keys = ON')
  copy.exec('DELETE FROM uploads')
  copy.prepare(`UPDATE meta SET value = ? WHERE key = 'epoch'`).run(epoch)
  const named = copy.prepare('SELECT 1 FROM blobs WHERE place = ?')
  const places = copy.prepare<[], string>('SELECT place FROM blobs WHERE place IS NOT NULL').pluck()
  return {
    content: copy.prepare<[], string>(`SELECT value FROM meta WHERE key = 'content'`).pluck().get() ?? 'disk',
    names: (place) => named.get(place) !== undefined,
    places: () => places.all(),
    close: () => copy.close(),
  }
}
