/**
 * A backup of a node that keeps everything in its data folder, while it runs. The backup is itself a data folder, of one
 * moment: every row of its database has its content. Made again into the same folder, it copies what is new; and what is
 * in the folder is a whole backup at every moment, the old one or the new one.
 */
import { copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { copyBlob, removeOthers, syncPath } from '../blob/backup.js'
import { holdRemoved, type Hold } from '../blob/held.js'
import { errorCode, makeDirectory, syncDirectory } from '../blob/sync.js'
import { SQLITE_FILE_NAME } from '../db/open.js'
import { takeSnapshot, type Snapshot } from '../db/sqlite-backup.js'
import { randomHex } from '../model/secrets.js'

/** Says that a folder is a backup, so that nothing else is ever written over. */
const MARK = 'backup'
const MARK_TEXT = 'A backup of a Starling node, made by `starling backup`.\n'
const EPOCH_BYTES = 16
/** What a node has besides its database and content. */
const OTHER_FILES = ['node-id', 'tls/cert.pem', 'tls/key.pem']

export interface BackupReport {
  /** Pieces of content outside the database. */
  readonly blobs: number
  readonly copied: number
  readonly removed: number
  /** Content that was missing before: what `starling check` names. */
  readonly missing: readonly string[]
}

/** Makes the folder, or refuses one that holds something else. */
export async function prepareTarget(target: string): Promise<void> {
  await makeDirectory(target)
  const names = await readdir(target)
  if (names.length === 0) {
    await writeFile(join(target, MARK), MARK_TEXT, { mode: 0o600 })
    return
  }
  const mark = names.includes(MARK) ? await readFile(join(target, MARK), 'utf8') : ''
  if (mark !== MARK_TEXT) throw new Error(`${target} is neither empty nor a backup`)
}

/** Whoever calls this holds the locks on both folders. */
export async function backUp(dataDir: string, target: string): Promise<BackupReport> {
  const source = join(dataDir, 'blobs')
  const hold = await holdRemoved(source)
  const draft = join(target, `${SQLITE_FILE_NAME}.draft`)
  try {
    await rm(draft, { force: true })
    const snapshot = takeSnapshot(dataDir, draft, randomHex(EPOCH_BYTES))
    try {
      if (snapshot.content !== 'disk') throw new Error('the content of this installation is in an S3 store')
      const copied = await copyContent(snapshot, { source, hold, target: join(target, 'blobs') })
      await copyOthers(dataDir, target)
      await replaceDatabase(draft, target)
      const removed = await removeOthers(join(target, 'blobs'), (place) => snapshot.names(place))
      return { ...copied, removed }
    } finally {
      snapshot.close()
    }
  } finally {
    await hold.release()
    await rm(draft, { force: true })
  }
}

async function copyContent(
  snapshot: Snapshot,
  folders: { source: string; hold: Hold; target: string },
): Promise<Pick<BackupReport, 'blobs' | 'copied' | 'missing'>> {
  await makeDirectory(folders.target)
  let blobs = 0
  let copied = 0
  const missing: string[] = []
  for (const place of snapshot.places()) {
    const result = await copyBlob(folders.source, folders.hold, folders.target, place)
    blobs += 1
    if (result === 'copied') copied += 1
    else if (result === 'missing') missing.push(place)
  }
  return { blobs, copied, missing }
}

async function copyOthers(dataDir: string, target: string): Promise<void> {
  await mkdir(join(target, 'tls'), { recursive: true, mode: 0o700 })
  for (const name of OTHER_FILES) {
    try {
      await copyFile(join(dataDir, name), join(target, name))
    } catch (error) {
      // A certificate of one's own lies elsewhere.
      if (errorCode(error) !== 'ENOENT') throw error
    }
  }
}

/** From this step on the folder is the new backup. */
async function replaceDatabase(draft: string, target: string): Promise<void> {
  await syncPath(draft)
  for (const ending of ['-wal', '-shm']) await rm(join(target, SQLITE_FILE_NAME + ending), { force: true })
  await rename(draft, join(target, SQLITE_FILE_NAME))
  await syncDirectory(target)
}
