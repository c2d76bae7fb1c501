import { resolve } from 'node:path'
import { parseS3Address, type S3Address } from '../blob/s3-address.js'
import type { CommonSettings, Setting, Values } from './settings.js'
import { UsageError } from './usage-error.js'

export const MIGRATE_SETTINGS: readonly Setting[] = [
  {
    name: 'to-database',
    kind: 'text',
    fallback: 'it stays',
    help: 'where the metadata goes: postgres://… or sqlite, the file in the data folder',
  },
  {
    name: 'to-content',
    kind: 'text',
    fallback: 'it stays',
    help: 'where the content goes: s3://bucket?endpoint=… or disk, the data folder',
  },
  {
    name: 'to-content-credentials',
    kind: 'text',
    fallback: 'as --content-credentials',
    help: 'file with the keys of the S3 store it goes to',
  },
]

export interface MigrateSettings extends CommonSettings {
  /** Without an address it is SQLite in the data folder. */
  readonly toDatabase: { readonly url: string | undefined } | undefined
  /** Without an address it is the data folder. */
  readonly toContent:
    { readonly address: S3Address | undefined; readonly credentials: string | undefined } | undefined
  /** The settings of `serve` after the move, as the command line says them. */
  readonly next: Readonly<Record<string, string>>
  /** The same for the program itself. */
  readonly nextPlaces: Pick<CommonSettings, 'database' | 'content' | 'contentCredentials' | 'replica'>
}

export function migrateSettings(values: Values, common: CommonSettings): MigrateSettings {
  const toDatabase = databaseTarget(values.text('to-database'))
  const toContent = contentTarget(values)
  if (toDatabase === undefined && toContent === undefined)
    throw new UsageError('--to-database or --to-content must say where to')
  if (toDatabase !== undefined && toDatabase.url === common.database)
    throw new UsageError('--to-database names the database that is in use')
  if (toContent !== undefined && isSameStore(toContent.address, common.content))
    throw new UsageError('--to-content names the content store that is in use')
  const database = toDatabase === undefined ? common.database : toDatabase.url
  const content = toContent === undefined ? values.text('content') : addressIn(values.text('to-content'))
  const credentials = toContent === undefined ? common.contentCredentials : toContent.credentials
  return {
    ...common,
    toDatabase,
    toContent,
    nextPlaces: {
      database,
      content: toContent === undefined ? common.content : toContent.address,
      contentCredentials: credentials,
      replica: undefined,
    },
    next: {
      data: resolve(common.dataDir),
      ...(database === undefined ? {} : { database: withoutPassword(database) }),
      ...(content === undefined ? {} : { content }),
      ...(content === undefined || credentials === undefined ? {} : { 'content-credentials': credentials }),
    },
  }
}

function databaseTarget(text: string | undefined): MigrateSettings['toDatabase'] {
  if (text === undefined) return undefined
  if (text === 'sqlite') return { url: undefined }
  if (!/^postgres(ql)?:\/\//.test(text)) throw new UsageError('--to-database must be postgres://… or sqlite')
  return { url: text }
}

function contentTarget(values: Values): MigrateSettings['toContent'] {
  const text = values.text('to-content')
  const credentials = values.text('to-content-credentials') ?? values.text('content-credentials')
  if (text === undefined) return undefined
  if (text === 'disk') return { address: undefined, credentials: undefined }
  try {
    return { address: parseS3Address(text), credentials }
  } catch (error) {
    throw new UsageError(`--to-content: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function isSameStore(one: S3Address | undefined, other: S3Address | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.origin === other.origin && one.bucket === other.bucket && one.prefix === other.prefix
}

function addressIn(target: string | undefined): string | undefined {
  return target === 'disk' ? undefined : target
}

/** What a command prints may be kept by others than those who may know the password. */
function withoutPassword(address: string): string {
  return address.replace(/^(\w+:\/\/[^:@/]*):.*@/, '$1:…@').replace(/([?&]password=)[^&]*/g, '$1…')
}
