/**
 * Fills a node's own copy of content in the background. What other nodes receive is learned from the change log, which
 * signals tell to look at early; a look at everything from time to time makes up for what went unheard.
 */
import { BroughtToAnEnd, type Copy, type Replica } from '../blob/replica.js'
import { BlobMissing } from '../blob/store.js'
import { blobExists } from '../db/blobs.js'
import { OutcomeUnknown, type Db } from '../db/db.js'
import {
  countTries,
  findHeld,
  insertHeld,
  listMissing,
  listMissingAmong,
  noteFailure,
  setStalled,
  type MissingBlob,
} from '../db/replicas.js'
import { Failure } from '../model/failures.js'
import { backOff, BRINGING_LIMITS, type BringingLimits } from './bringing-limits.js'
import { contentNews } from './content-news.js'
import { copiesTidying } from './copies-tidying.js'
import type { ServiceDeps } from './deps.js'
import { doorbell } from './doorbell.js'
import { removeCopy } from './release.js'
import { space } from './space.js'
import { SWEEP_GRACE_MS } from './sweep.js'

export interface Bringing {
  /** Something may have changed. */
  wake(): void
  /** Somebody waits for this content: it goes before all other. */
  want(hash: string): void
  readonly counts: BringingCounts
  /** What is under way is given up; it is brought after the next start. */
  stop(): Promise<void>
}

export interface BringingCounts {
  readonly brought: number
  readonly broughtBytes: number
  readonly failures: number
  /** The content store is away. */
  readonly isStalled: boolean
}

/** Beyond this many that somebody waits for, the others come in their turn. */
const ASKED_MAX = 10_000
const ASKED_AT_ONCE = 100
const SCAN_SHARE = 20
const START = { size: -1, hash: '' }

export function bringing(
  deps: ServiceDeps,
  db: Db,
  replica: Replica,
  tell: (message: string) => void,
  limits: BringingLimits = BRINGING_LIMITS,
): Bringing {
  const { nodeId } = deps
  const room = space(deps)
  const bell = doorbell()
  const news = contentNews(db)
  let isStopped = false
  const tidying = copiesTidying(deps, db, replica, () => isStopped)
  const asked = new Set<string>()
  const underWay = new Map<string, { size: number; ended: Promise<void> }>()
  let queue: MissingBlob[] = []
  let position: { size: number; hash: string } | undefined = START
  let isScanDue = true
  let scannedMs = -Infinity
  let scanAllowedMs = -Infinity
  let retryMs = Infinity
  const stall = { tries: 0, untilMs: -Infinity }
  const counts = { brought: 0, broughtBytes: 0, failures: 0, isStalled: false }

  /** The books about content that is here by now; false when the copy is of no use. */
  function settle({ hash, size }: MissingBlob, copy: Copy): Promise<boolean> {
    return db.write(async (tx) => {
      await tx.lock('blobs', hash)
      if (!(await blobExists(tx, hash)) || (await findHeld(tx, nodeId, hash)) !== undefined) return false
      if (size > (await room.claimable(tx))) return false
      await insertHeld(tx, nodeId, { hash, size, ...copy })
      return true
    })
  }

  async function transfer(blob: MissingBlob): Promise<void> {
    const source = await deps.blobs.open(blob.place)
    let copy: Copy
    try {
      copy = await replica.bring(source, blob, () => isStopped)
    } finally {
      await source.close()
    }
    try {
      if (!(await settle(blob, copy))) return removeCopy(deps, copy.place)
    } catch (error) {
      if (!(error instanceof OutcomeUnknown)) removeCopy(deps, copy.place)
      throw error
    }
    counts.brought += 1
    counts.broughtBytes += blob.size
  }

  async function goOn(): Promise<boolean> {
    stall.tries = 0
    if (!counts.isStalled) return false
    counts.isStalled = false
    tell('the content store is back: the local copy goes on')
    await db.write((tx) => setStalled(tx, nodeId, null))
    return false
  }

  async function waitForStore(error: unknown): Promise<void> {
    stall.untilMs = performance.now() + backOff(limits.stallMs, limits.stallMaxMs, stall.tries)
    stall.tries += 1
    if (counts.isStalled) return
    counts.isStalled = true
    deps.complain('the local copy waits for the content store', error)
    const sinceMs = deps.now()
    await db.write((tx) => setStalled(tx, nodeId, sinceMs))
  }

  /** True when it is nothing about the content itself: it comes as soon as it can. */
  async function noteWhy(blob: MissingBlob, error: unknown): Promise<boolean> {
    if (error instanceof BroughtToAnEnd) return false
    if (error instanceof Failure && error.kind === 'unavailable') {
      await waitForStore(error)
      return true
    }
    if (error instanceof BlobMissing && (await hasMoved(blob))) return true
    counts.failures += 1
    deps.complain('content could not be brought', error)
    const reason = error instanceof Error ? error.message : String(error)
    await db.write(async (tx) => {
      const tries = await countTries(tx, nodeId, blob.hash)
      const waitMs = backOff(limits.retryMs, limits.retryMaxMs, tries)
      await noteFailure(tx, nodeId, {
        hash: blob.hash,
        tries: tries + 1,
        retryMs: deps.now() + waitMs,
        reason,
      })
      tx.afterCommit(() => {
        retryMs = Math.min(retryMs, deps.now() + waitMs)
      })
    })
    return false
  }

  /** The same content may have been uploaded again, or be nobody's any more. */
  async function hasMoved(blob: MissingBlob): Promise<boolean> {
    const [now] = await db.read((tx) => listMissingAmong(tx, nodeId, [blob.hash], deps.now()))
    return now?.place !== blob.place
  }

  function start(blob: MissingBlob): void {
    const sinceMs = performance.now()
    const ended = transfer(blob)
      .then(goOn, (error: unknown) => noteWhy(blob, error))
      .catch((error: unknown) => {
        deps.complain('the books of the local copy could not be kept', error)
        return true
      })
      .then((isAgain) => {
        underWay.delete(blob.hash)
        if (isAgain) asked.add(blob.hash)
        // It may have been deselected or deleted while it came.
        if (sinceMs < scannedMs) isScanDue = true
        bell.ring()
      })
    underWay.set(blob.hash, { size: blob.size, ended })
  }

  /** What is asked for first, then the smallest. */
  async function fillQueue(freeBytes: number): Promise<void> {
    if (asked.size > 0) {
      const hashes = [...asked].slice(0, ASKED_AT_ONCE)
      for (const hash of hashes) asked.delete(hash)
      queue = [...(await db.read((tx) => listMissingAmong(tx, nodeId, hashes, deps.now()))), ...queue]
    }
    if (queue.length > 0 || position === undefined) return
    const after = position
    const bounds = { sizeMax: freeBytes, nowMs: deps.now(), rowsMax: limits.pageRows }
    queue = await db.read((tx) => listMissing(tx, nodeId, after, bounds))
    position = queue.length < limits.pageRows ? undefined : queue.at(-1)
  }

  async function startTransfers(): Promise<void> {
    while (underWay.size < limits.atOnce && !isStopped && performance.now() >= stall.untilMs) {
      const freeBytes = await db.read((tx) => room.freeOnNode(tx))
      await fillQueue(freeBytes)
      const next = queue.shift()
      if (next === undefined) return
      const comingBytes = [...underWay.values()].reduce((sum, { size }) => sum + size, 0)
      if (underWay.has(next.hash) || next.size > freeBytes - comingBytes) continue
      // What waited in the queue may have come by another way.
      const [still] = await db.read((tx) => listMissingAmong(tx, nodeId, [next.hash], deps.now()))
      if (still !== undefined) start(still)
      // A store that is away is asked for one content at a time until it answers.
      if (counts.isStalled) return
    }
  }

  async function scan(): Promise<void> {
    isScanDue = false
    const startedMs = performance.now()
    scannedMs = startedMs
    try {
      await tidying.releaseUnwanted()
    } catch (error) {
      isScanDue = true
      if (!(error instanceof Failure && error.kind === 'unavailable')) throw error
      await waitForStore(error)
    } finally {
      const tookMs = performance.now() - startedMs
      scanAllowedMs = performance.now() + Math.max(limits.scanGapMs, tookMs * SCAN_SHARE)
      queue = []
      position = START
    }
  }

  async function look(): Promise<void> {
    const { contents, isMoved } = await news.read()
    for (const hash of contents) want(hash)
    if (isMoved || performance.now() >= scannedMs + limits.scanEveryMs) isScanDue = true
    if (deps.now() >= retryMs) {
      retryMs = Infinity
      position = START
    }
    const isAllowed = performance.now() >= Math.max(scanAllowedMs, stall.untilMs)
    if (isScanDue && isAllowed) await scan()
    await startTransfers()
  }

  function want(hash: string): void {
    if (asked.size < ASKED_MAX) asked.add(hash)
  }

  async function run(): Promise<void> {
    while (!isStopped) {
      try {
        await look()
      } catch (error) {
        // What was to be brought may have been forgotten on the way.
        isScanDue = true
        deps.complain('the local copy could not be looked after', error)
      }
      const isScanSoon = isScanDue && scanAllowedMs - performance.now() < limits.lookEveryMs
      await bell.wait(isScanSoon ? limits.scanGapMs : limits.lookEveryMs)
    }
    await Promise.all([...underWay.values()].map(({ ended }) => ended))
  }

  async function auditNow(beforeMs: number): Promise<void> {
    try {
      const lost = await tidying.audit(beforeMs)
      if (lost === 0) return
      tell(`${lost} local copies are not there and are brought again`)
      isScanDue = true
      bell.ring()
    } catch (error) {
      deps.complain('the local copies could not be looked through', error)
    }
  }

  const running = run()
  let auditing = auditNow(deps.now())
  const timer = setInterval(() => {
    auditing = auditing.then(() => auditNow(deps.now() - SWEEP_GRACE_MS))
  }, limits.auditEveryMs)
  timer.unref()

  return {
    counts,
    wake: () => bell.ring(),
    want(hash) {
      want(hash)
      bell.ring()
    },
    async stop() {
      isStopped = true
      clearInterval(timer)
      bell.ring()
      await Promise.all([running, auditing])
    },
  }
}
