/**
 * Where a node keeps metadata and content, as it was last served or moved. Commands on its data folder find them there:
 * without it a command that is not told would work on an empty database beside the one that is served.
 */
import { readFile, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { S3Address } from '../blob/s3-address.js'
import { errorCode } from '../blob/sync.js'
import { writeDurably } from '../http/durable-file.js'
import { commonSettings, type CommonSettings, type Values } from './settings.js'

const FILE_NAME = 'served.json'
const NOTHING_THERE = new Set(['ENOENT', 'ENOTDIR'])

type Places = Pick<CommonSettings, 'database' | 'content' | 'contentCredentials' | 'replica'>

interface Served {
  readonly database?: string
  readonly content?: S3Address
  readonly contentCredentials?: string
  readonly replica?: string
}

/** For the eyes of the owner alone, since the address of a database may hold a password. */
export async function noteServed(dataDir: string, places: Places): Promise<void> {
  const path = join(dataDir, FILE_NAME)
  if (places.database === undefined && places.content === undefined) return rm(path, { force: true })
  const served = {
    database: places.database,
    content: places.content,
    contentCredentials: absolute(places.contentCredentials),
    replica: absolute(places.replica),
  }
  await writeDurably(dataDir, path, `${JSON.stringify(served)}\n`, 0o600)
}

/** A start that forgets its database looks like a node that lost everything. */
export async function isDatabaseForgotten(dataDir: string, places: Places): Promise<boolean> {
  if (places.database !== undefined) return false
  // What cannot be read is about to be written anew.
  const served = await lastServed(dataDir).catch(() => undefined)
  return served?.database !== undefined
}

/** The settings of a command: what nobody says about database and content is as it was last served. */
export async function commandSettings(values: Values): Promise<CommonSettings> {
  const settings = commonSettings(values)
  const isSaid = (name: string): boolean => values.text(name) !== undefined
  const served = await lastServed(settings.dataDir)
  if (served === undefined || (isSaid('database') && settings.database !== served.database)) return settings
  if (isSaid('content')) return { ...settings, database: served.database }
  return {
    ...settings,
    database: served.database,
    content: served.content,
    contentCredentials: settings.contentCredentials ?? served.contentCredentials,
    replica: served.replica,
  }
}

async function lastServed(dataDir: string): Promise<Served | undefined> {
  const folder = resolve(dataDir)
  try {
    return JSON.parse(await readFile(join(folder, FILE_NAME), 'utf8')) as Served
  } catch (error) {
    // A folder that is none is told by whoever needs one.
    if (NOTHING_THERE.has(errorCode(error) ?? '')) return undefined
    const reason = `${FILE_NAME} cannot be read; serving the node writes it anew`
    throw new Error(`the data folder ${folder} cannot be used: ${reason}`, { cause: error })
  }
}

function absolute(path: string | undefined): string | undefined {
  return path === undefined ? undefined : resolve(path)
}
