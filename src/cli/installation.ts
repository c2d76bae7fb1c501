import { access, constants, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { openDiskStore } from '../blob/disk.js'
import type { Replica } from '../blob/replica.js'
import type { S3Address } from '../blob/s3-address.js'
import { openStaging } from '../blob/staging.js'
import type { BlobStore, BlobTarget } from '../blob/store.js'
import { makeDirectory } from '../blob/sync.js'
import { ensureEpoch, settleFact } from '../db/changes.js'
import type { Db } from '../db/db.js'
import { ensureNode } from '../db/nodes.js'
import { openDatabase } from '../db/open.js'
import { findContentFact, refuseHalfDone } from '../db/relocation.js'
import { randomHex } from '../model/secrets.js'
import { nodeIdentity } from '../nodes/identity.js'
import { localTurnstile, register } from '../nodes/turnstile.js'
import type { ServiceDeps } from '../service/deps.js'
import { ldapDirectory, type LdapSettings } from '../service/directory.js'
import { passwordQueue } from '../service/password-queue.js'
import { unknownContent } from './unknown-content.js'

/** The stored state of a node, opened: what a server and a command both start from. */
export interface Installation {
  readonly dataDir: string
  readonly nodeId: string
  readonly db: Db
  readonly parts: Pick<ServiceDeps, 'nodeId' | 'now' | 'blobs' | 'staging' | 'replica'>
  close(): Promise<void>
}

const EPOCH_BYTES = 16

export interface InstallationSettings {
  readonly dataDir: string
  readonly database: string | undefined
  readonly content?: S3Address | undefined
  readonly contentCredentials?: string | undefined
  /** The folder of the node's own copy of content. */
  readonly replica?: string | undefined
}

/** A node settles where the content of the installation is; a command need not know. */
export async function openInstallation(
  settings: InstallationSettings,
  log: (message: string) => void,
  opener: 'node' | 'command' = 'node',
): Promise<Installation> {
  const dataDir = resolve(settings.dataDir)
  await prepareFolder(dataDir)
  const nodeId = await nodeIdentity(dataDir)
  const db = await openDatabase({ url: settings.database, dataDir, log })
  try {
    const facts = await db.write(async (tx) => {
      await refuseHalfDone(tx)
      await ensureEpoch(tx, randomHex(EPOCH_BYTES))
      await ensureNode(tx, nodeId, Date.now())
      return {
        installation: await settleFact(tx, 'installation', randomHex(EPOCH_BYTES)),
        content:
          opener === 'node'
            ? await settleFact(tx, 'content', settings.content === undefined ? 'disk' : 's3')
            : await findContentFact(tx),
      }
    })
    const blobs = await openContent(settings, dataDir, { ...facts, opener }, log)
    const staging = await openStaging(join(dataDir, 'staging'))
    const replica = await openCopy(settings.replica)
    const parts = { nodeId, now: Date.now, blobs, staging, replica }
    return { dataDir, nodeId, db, parts, close: () => db.close() }
  } catch (error) {
    await db.close()
    throw error
  }
}

/** Content that is looked for in the wrong place would seem to be lost, so a place that was never used is refused. */
async function openContent(
  { content, contentCredentials }: InstallationSettings,
  dataDir: string,
  facts: { installation: string; content: string | undefined; opener: 'node' | 'command' },
  log: (message: string) => void,
): Promise<BlobStore> {
  if (facts.content === 's3' && content === undefined) {
    const reason = 'this installation keeps its content in an S3 store: --content must say which'
    if (facts.opener === 'command') return unknownContent(reason)
    throw new Error(reason)
  }
  if (facts.content === 'disk' && content !== undefined) {
    throw new Error('this installation keeps its content in files of the data folder, not in an S3 store')
  }
  return openStore({ content, contentCredentials }, dataDir, facts.installation, log)
}

/** The store of content that the settings name: a bucket, or files of the data folder. */
export async function openStore(
  { content, contentCredentials }: Pick<InstallationSettings, 'content' | 'contentCredentials'>,
  dataDir: string,
  installation: string,
  log: (message: string) => void,
): Promise<BlobTarget> {
  if (content === undefined) return openDiskStore(join(dataDir, 'blobs'))
  const { openS3Store } = await import('../blob/s3.js')
  const { s3Credentials } = await import('../blob/s3-credentials.js')
  return openS3Store({
    address: content,
    credentials: s3Credentials(contentCredentials, process.env),
    owner: installation,
    complain: (message, error) =>
      log(`${message}: ${error instanceof Error ? error.message : String(error)}`),
  })
}

async function openCopy(directory: string | undefined): Promise<Replica | undefined> {
  if (directory === undefined) return undefined
  const { openReplica, prepareReplica } = await import('../blob/replica.js')
  await prepareReplica(resolve(directory))
  return openReplica(resolve(directory))
}

async function prepareFolder(dataDir: string): Promise<void> {
  try {
    // Only a folder that is made here has a parent that is ours to read.
    await access(dataDir).catch(() => makeDirectory(dataDir))
    if (!(await stat(dataDir)).isDirectory()) throw new Error('it is not a folder')
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`the data folder ${dataDir} cannot be used: ${reason}`, { cause: error })
  }
}

/** What the verbs need when no server runs in this process: nobody to signal, nobody to wait for. */
export function commandDeps(
  installation: Installation,
  complain: ServiceDeps['complain'],
  settings: { passwordLengthMin: number; ldap: LdapSettings | undefined } = {
    passwordLengthMin: 8,
    ldap: undefined,
  },
): ServiceDeps {
  return {
    ...installation.parts,
    turnstile: localTurnstile(register(1), 0),
    signal: () => undefined,
    askFor: () => undefined,
    diskFreeBytes: () => Number.MAX_SAFE_INTEGER,
    uploadLifetimeMs: Number.MAX_SAFE_INTEGER,
    quotaBytes: null,
    signUpPolicy: 'invited',
    passwordLengthMin: settings.passwordLengthMin,
    hashing: passwordQueue(),
    directory: settings.ldap === undefined ? undefined : ldapDirectory(settings.ldap, complain),
    publicUrl: undefined,
    complain,
  }
}
