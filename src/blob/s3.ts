/** Blobs as objects of an S3-compatible store, which many nodes may share: `<prefix>blobs/<place>`. */
import { randomHex } from '../model/secrets.js'
import { openFile } from './file.js'
import type { S3Address } from './s3-address.js'
import type { CredentialsSource } from './s3-credentials.js'
import { failureOf, isMissing, retried, RETRY_LIMITS, S3Refusal, type RetryLimits } from './s3-failures.js'
import { abortUpload, PART_BYTES, PUT_MAX_MS, putFile, sizeOf } from './s3-put.js'
import { s3Reader } from './s3-reader.js'
import { s3Wire, WIRE_LIMITS, type S3Wire, type WireLimits } from './s3-wire.js'
import { elementsOf, valueOf } from './s3-xml.js'
import {
  assertPlace,
  BlobMissing,
  hashOfPlace,
  isPlace,
  newPlace,
  PLACE_RANDOM_BYTES,
  type BlobTarget,
  type StoredBlob,
} from './store.js'

const FOLDER = 'blobs/'
const OWNER_KEY = 'owner'
const LIST_KEYS_MAX = 1000
/** The tag of an object that was put in parts says how many they were. */
const TAG_OF_PARTS = /-\d+(?:"|&quot;|&#34;)?$/

export interface S3Options {
  readonly address: S3Address
  readonly credentials: CredentialsSource
  /** Names the installation: what others have claimed is neither written nor swept. */
  readonly owner: string
  readonly complain: (message: string, error: unknown) => void
  readonly retryLimits?: RetryLimits
  readonly wireLimits?: WireLimits
  readonly partBytes?: number
  readonly listKeysMax?: number
}

export function openS3Store(options: S3Options): BlobTarget {
  const { address, complain, retryLimits: limits = RETRY_LIMITS } = options
  const wire = s3Wire(address, options.credentials, options.wireLimits ?? WIRE_LIMITS)
  const putting = { wire, limits, partBytes: options.partBytes ?? PART_BYTES, complain }
  const listing = {
    wire,
    limits,
    prefix: address.prefix,
    keysMax: String(options.listKeysMax ?? LIST_KEYS_MAX),
  }
  const claim = claimOnce(() => claimStore(wire, limits, address, options.owner))

  /** The cause is told to whoever runs the node, the failure to the client. */
  function told(error: unknown): unknown {
    const failure = failureOf(error)
    if (failure !== error) complain('the content store failed', error)
    return failure
  }

  async function guarded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw told(error)
    }
  }

  async function send(place: string, stagedPath: string, size: number): Promise<void> {
    const file = await openFile(stagedPath, 'r')
    try {
      const stagedBytes = await file.size()
      if (stagedBytes !== size) {
        throw new Error(`A staged file has ${String(stagedBytes)} bytes where ${String(size)} were expected`)
      }
      await claim()
      await putFile(putting, FOLDER + place, { file, size, hash: hashOfPlace(place) })
    } finally {
      await file.close()
    }
  }

  return {
    put: (stagedPath, hash, size) =>
      guarded(async () => {
        const place = newPlace(hash, randomHex(PLACE_RANDOM_BYTES))
        await send(place, stagedPath, size)
        return place
      }),

    putAt: (place, stagedPath, size) =>
      guarded(() => {
        assertPlace(place)
        return send(place, stagedPath, size)
      }),

    open: (place) =>
      guarded(async () => {
        assertPlace(place)
        const key = FOLDER + place
        const size = await sizeOf(wire, limits, key)
        if (size === undefined) throw new BlobMissing(place)
        return s3Reader(wire, { place, key, size }, limits, told)
      }),

    remove: (place) =>
      guarded(async () => {
        assertPlace(place)
        await removeKey(wire, limits, FOLDER + place)
      }),

    async *list() {
      await guarded(claim)
      let from: string | undefined
      do {
        const page = await guarded(() => listPage(listing, from))
        yield* page.blobs
        from = page.next
      } while (from !== undefined)
    },

    endUnfinished: (beforeMs) =>
      guarded(async () => {
        await claim()
        return abortUploads(listing, beforeMs - PUT_MAX_MS)
      }),

    async probe() {
      try {
        await claim()
      } catch (error) {
        throw settingError(error, address) ?? failureOf(error)
      }
    },
  }
}

/** A claim that succeeded is not made again; one that failed is. */
function claimOnce(claim: () => Promise<void>): () => Promise<void> {
  let claimed: Promise<void> | undefined
  return () => {
    claimed ??= claim().catch((error: unknown) => {
      claimed = undefined
      throw error
    })
    return claimed
  }
}

/** Two installations in one place would sweep each other's content away, so the first to come writes its name. */
async function claimStore(
  wire: S3Wire,
  limits: RetryLimits,
  address: S3Address,
  owner: string,
): Promise<void> {
  const read = (): Promise<string> =>
    retried(limits, () => wire.ask({ method: 'GET', key: OWNER_KEY })).then(({ text }) => text.trim())
  let found: string
  try {
    found = await read()
  } catch (error) {
    if (!isMissing(error)) throw error
    await retried(limits, () => wire.ask({ method: 'PUT', key: OWNER_KEY, body: `${owner}\n` }))
    found = await read()
  }
  if (found !== owner) throw new OwnedByAnother(address)
}

class OwnedByAnother extends Error {
  constructor({ bucket, prefix }: S3Address) {
    super(`the content store s3://${bucket}/${prefix} belongs to another installation`)
    this.name = 'OwnedByAnother'
  }
}

/** What whoever runs the node must change; undefined for what may pass by itself. */
function settingError(error: unknown, { bucket }: S3Address): Error | undefined {
  if (!(error instanceof S3Refusal)) return error instanceof OwnedByAnother ? error : undefined
  if (error.code === 'NoSuchBucket' || error.status === 404) return new Error(`there is no bucket ${bucket}`)
  if (error.status < 400 || error.status > 403) return undefined
  return new Error(`the content store refuses access to the bucket ${bucket}: ${error.code}`)
}

async function removeKey(wire: S3Wire, limits: RetryLimits, key: string): Promise<void> {
  try {
    await retried(limits, () => wire.ask({ method: 'DELETE', key }))
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

interface Listing {
  readonly wire: S3Wire
  readonly limits: RetryLimits
  readonly prefix: string
  readonly keysMax: string
}

async function listPage(
  { wire, limits, prefix, keysMax }: Listing,
  from: string | undefined,
): Promise<{ blobs: StoredBlob[]; next: string | undefined }> {
  const query = {
    'list-type': '2',
    'max-keys': keysMax,
    prefix: prefix + FOLDER,
    ...(from === undefined ? {} : { 'continuation-token': from }),
  }
  const { text } = await retried(limits, () => wire.ask({ method: 'GET', query }))
  const blobs = elementsOf(text, 'Contents').flatMap((entry) => storedBlob(entry, prefix + FOLDER))
  return { blobs, next: valueOf(text, 'NextContinuationToken') }
}

function storedBlob(entry: string, folder: string): StoredBlob[] {
  const place = (valueOf(entry, 'Key') ?? '').slice(folder.length)
  const size = Number(valueOf(entry, 'Size'))
  const datedMs = Date.parse(valueOf(entry, 'LastModified') ?? '')
  if (!isPlace(place) || !Number.isSafeInteger(size) || Number.isNaN(datedMs)) return []
  // Such an object may bear the date on which its put began. The latest that the put can have ended is what counts.
  const isOfParts = TAG_OF_PARTS.test(valueOf(entry, 'ETag') ?? '')
  return [{ place, size, modifiedMs: isOfParts ? Math.min(datedMs + PUT_MAX_MS, Date.now()) : datedMs }]
}

async function abortUploads({ wire, limits, prefix, keysMax }: Listing, beforeMs: number): Promise<number> {
  let aborted = 0
  let from: Record<string, string> | undefined = {}
  while (from !== undefined) {
    const query = { uploads: '', prefix: prefix + FOLDER, 'max-uploads': keysMax, ...from }
    const { text } = await retried(limits, () => wire.ask({ method: 'GET', query }))
    for (const entry of elementsOf(text, 'Upload')) {
      const key = (valueOf(entry, 'Key') ?? '').slice(prefix.length)
      const uploadId = valueOf(entry, 'UploadId')
      const begunMs = Date.parse(valueOf(entry, 'Initiated') ?? '')
      // A date that cannot be read is no reason to remove anything.
      if (uploadId === undefined || !(begunMs < beforeMs) || !isPlace(key.slice(FOLDER.length))) continue
      await retried(limits, () => abortUpload(wire, key, uploadId))
      aborted += 1
    }
    from = nextMarkers(text)
  }
  return aborted
}

function nextMarkers(text: string): Record<string, string> | undefined {
  const key = valueOf(text, 'NextKeyMarker')
  const uploadId = valueOf(text, 'NextUploadIdMarker')
  if (valueOf(text, 'IsTruncated') !== 'true' || key === undefined || uploadId === undefined) return undefined
  return { 'key-marker': key, 'upload-id-marker': uploadId }
}
