/**
 * Where finished content lives. A blob never changes. It is named by its place: the hash of its content and a
 * random part. The random part makes every put a place of its own, so that the blob which the sweep is just
 * removing can never be the one that a concurrent upload of the same content has just placed and is about to name
 * in a row.
 */
export interface BlobStore {
  /**
   * Returns the place of the blob. The staged file must already be synced; it stays, since until a row names the
   * blob it is the staged file that counts, and must not be written to as long as the blob is there. The blob is
   * durable when the promise resolves: only then may a row name it.
   */
  put(stagedPath: string, hash: string, size: number): Promise<string>
  /** Throws BlobMissing when there is no such blob. */
  open(place: string): Promise<BlobReader>
  /** Removing a blob that is not there is fine. */
  remove(place: string): Promise<void>
  /** Every blob of the store, in no particular order. Blobs put or removed meanwhile may be listed or not. */
  list(): AsyncIterable<StoredBlob>
  /**
   * Removes what is left of puts that never came to their end, as far as they cannot have been under way any more
   * at that time. Resolves to the number of them.
   */
  endUnfinished(beforeMs: number): Promise<number>
  /**
   * For the start of a server: rejected when content cannot be kept here, with a Failure when that may pass and with
   * any other error when a setting must be changed.
   */
  probe(): Promise<void>
}

/** A store that can take blobs over from another one, each at the place that it has there. */
export interface BlobTarget extends BlobStore {
  /** As put, at a place where nothing is yet. The staged file must not be removed before the promise resolves. */
  putAt(place: string, stagedPath: string, size: number): Promise<void>
}

/** A store whose blobs are files that others may read. */
export interface LocalBlobs extends BlobTarget {
  pathOf(place: string): string
}

export interface StoredBlob {
  readonly place: string
  readonly size: number
  /** When it was put, whatever the age of its bytes: the sweep counts its grace time from here. */
  readonly modifiedMs: number
}

export interface BlobReader {
  readonly size: number
  /**
   * Reads up to `length` bytes from `position` of the blob into the start of `buffer`. Resolves to the number of
   * bytes read, which is less than `length` only at the end of the blob. A reader may outlive the removal of its
   * blob, or throw BlobMissing from then on. A store that is away is a Failure.
   */
  read(buffer: Buffer, position: number, length: number): Promise<number>
  /** May be called more than once. */
  close(): Promise<void>
}

export class BlobMissing extends Error {
  constructor(readonly place: string) {
    super(`There is no blob at ${place}`)
    this.name = 'BlobMissing'
  }
}

/** Thrown by a reader that noticed; not every store looks. */
export class BlobCorrupt extends Error {
  constructor(readonly place: string) {
    super(`The bytes of the blob at ${place} are not those of its content`)
    this.name = 'BlobCorrupt'
  }
}

const PLACE = /^[0-9a-f]{64}\.[0-9a-f]{16}$/
const HASH = /^[0-9a-f]{64}$/
const HASH_HEX_DIGITS = 64

export const PLACE_RANDOM_BYTES = 8

/** Throws when the text is no place. Nothing else may become part of a path or of an object's key. */
export function assertPlace(place: string): void {
  if (!PLACE.test(place)) throw new Error('Not the place of a blob')
}

/** The hash of the content that is at the place. */
export function hashOfPlace(place: string): string {
  return place.slice(0, HASH_HEX_DIGITS)
}

export function isPlace(text: string): boolean {
  return PLACE.test(text)
}

/** A place that no blob has had before. */
export function newPlace(hash: string, random: string): string {
  if (!HASH.test(hash)) throw new Error('Not the hash of content')
  const place = `${hash}.${random}`
  assertPlace(place)
  return place
}
