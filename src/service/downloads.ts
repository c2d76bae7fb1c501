import { BlobMissing, type BlobReader } from '../blob/store.js'
import { findBlob } from '../db/blobs.js'
import type { Db, Tx } from '../db/db.js'
import { findMembership } from '../db/memberships.js'
import { findObject } from '../db/objects.js'
import { findHeld, type HeldBlob } from '../db/replicas.js'
import { hasToken } from '../db/tokens.js'
import { findUser } from '../db/users.js'
import type { Caller } from '../gate/caller.js'
import type { ReadGrant } from '../gate/grants.js'
import type { ServiceDeps } from './deps.js'
import { localCopies } from './local-copies.js'

/** Content found in a transaction, to be opened after it. */
export type FoundContent = { readonly hash: string; readonly size: number } & (
  | { readonly place: string; readonly data: null; readonly held?: HeldBlob | undefined }
  | { readonly place: null; readonly data: Buffer }
)

/** The stored bytes vanished while they were read, as they do when the content is replaced or deleted. */
export class ContentGone extends Error {
  constructor(cause: unknown) {
    super('the content is gone', { cause })
    this.name = 'ContentGone'
  }
}

/** A download under way. */
export interface Watched {
  readonly sid: string
  readonly oid: string
  readonly hash: string
  readonly reader: Caller
  /** Ends the download before its end. */
  readonly cut: () => void
}

export interface Downloads {
  find(tx: Tx, grant: ReadGrant<'file'>): Promise<FoundContent | undefined>
  /** Somebody waits for content that is on its way to the node. */
  hasten(grant: ReadGrant<'file'>): void
  /** Undefined when the stored bytes are not there. */
  open(content: FoundContent): Promise<BlobReader | undefined>
  isCurrent(watched: Omit<Watched, 'cut'>): Promise<boolean>
  /**
   * Cuts the download when its content is replaced or deleted, its reader is no longer in the share or its token is
   * revoked; call the result when it has ended.
   */
  watch(watched: Watched): () => void
  /** Something changed in the store: looks again at the downloads under way there. */
  recheck(sid: string): void
  stop(): void
}

/** A signal that was lost, or a change made by the command line, is noticed after this time at the latest. */
const RECHECK_INTERVAL_MS = 2_000

export function downloads(deps: ServiceDeps, db: Db): Downloads {
  const copies = localCopies(deps, db)
  const underWay = new Map<string, Set<Watched>>()

  async function isCurrent(watched: Omit<Watched, 'cut'>): Promise<boolean> {
    const { sid, oid, hash, reader } = watched
    return db.read(async (tx) => {
      if ((await findObject(tx, sid, oid))?.content !== hash) return false
      if (!(await hasToken(tx, reader.deviceId))) return false
      return sid === reader.rootSid || isStillIn(tx, reader, sid)
    })
  }

  const looking = new Map<Watched, 'once' | 'again'>()

  /** Nobody may go on reading on the word of a database that cannot be asked any more. */
  async function mayGoOn(watched: Watched): Promise<boolean> {
    try {
      return await isCurrent(watched)
    } catch (error) {
      deps.complain('a download could not be checked and was cut', error)
      return false
    }
  }

  /** One look at a time; what is signalled during one makes for another one after it. */
  async function look(watched: Watched): Promise<void> {
    if (looking.has(watched)) return void looking.set(watched, 'again')
    let isLast = false
    while (!isLast) {
      looking.set(watched, 'once')
      const goesOn = await mayGoOn(watched)
      // It may have ended while the database was asked.
      const isUnderWay = underWay.get(watched.sid)?.has(watched) === true
      if (!goesOn && isUnderWay) watched.cut()
      isLast = !goesOn || !isUnderWay || looking.get(watched) !== 'again'
    }
    looking.delete(watched)
  }

  function recheck(sid: string): void {
    for (const watched of underWay.get(sid) ?? []) void look(watched)
  }

  /**
   * The same content may be uploaded again while it is read: the newer copy takes over and the one being read may
   * vanish. The bytes are the same, so the reader goes on with the copy that is there.
   */
  async function openAtPlace(hash: string, place: string): Promise<BlobReader> {
    let reader = await deps.blobs.open(place)
    let readPlace = place
    let isClosed = false

    async function follow(missing: BlobMissing): Promise<void> {
      const now = await db.read((tx) => findBlob(tx, hash))
      if (now === undefined || now.place === null || now.place === readPlace || isClosed)
        throw new ContentGone(missing)
      const next = await deps.blobs.open(now.place)
      await reader.close()
      reader = next
      readPlace = now.place
      if (isClosed) await reader.close()
    }

    return {
      size: reader.size,
      async read(buffer, position, length) {
        for (;;) {
          try {
            return await reader.read(buffer, position, length)
          } catch (error) {
            if (!(error instanceof BlobMissing)) throw error
            await follow(error)
          }
        }
      },
      async close() {
        isClosed = true
        await reader.close()
      },
    }
  }

  const timer = setInterval(() => {
    for (const sid of underWay.keys()) recheck(sid)
  }, RECHECK_INTERVAL_MS)
  timer.unref()

  return {
    async find(tx, grant) {
      const { content } = grant.object
      const blob = content === null ? undefined : await findBlob(tx, content)
      if (deps.replica === undefined || blob === undefined || blob.place === null) return blob
      return { ...blob, held: await findHeld(tx, deps.nodeId, blob.hash) }
    },

    hasten({ object }) {
      if (object.content !== null) deps.askFor(object.content)
    },

    async open(content) {
      if (content.place === null) return inMemory(content.data)
      const { hash, place, held } = content
      try {
        const readThrough = (): Promise<BlobReader> => openAtPlace(hash, place)
        const copy = held === undefined ? undefined : await copies.open(held, readThrough)
        return copy ?? (await readThrough())
      } catch (error) {
        if (error instanceof BlobMissing) return undefined
        throw error
      }
    },

    isCurrent,
    recheck,

    watch(watched) {
      const inStore = underWay.get(watched.sid) ?? new Set<Watched>()
      underWay.set(watched.sid, inStore.add(watched))
      return () => {
        inStore.delete(watched)
        if (inStore.size === 0) underWay.delete(watched.sid)
      }
    },

    stop: () => clearInterval(timer),
  }
}

/** Whether the share still exists for somebody for whom it did. */
async function isStillIn(tx: Tx, reader: Caller, sid: string): Promise<boolean> {
  if ((await findMembership(tx, reader.userId, sid))?.state === 'joined') return true
  return reader.isAdmin && (await findUser(tx, reader.userId))?.is_admin === 1
}

function inMemory(data: Buffer): BlobReader {
  return {
    size: data.length,
    read: (buffer, position, length) => Promise.resolve(data.copy(buffer, 0, position, position + length)),
    close: () => Promise.resolve(),
  }
}
