/**
 * Takes content as it arrives: hashes it, gathers it, and writes it out in large pieces. While one piece is being
 * written the next gathers, so a receiver holds little more than two pieces whatever the size of the content.
 */
import { withoutRoom, type OpenFile } from './file.js'
import type { ContentHasher } from './hashing.js'

/** This much is gathered before it is written with one call. */
export const GATHER_BYTES = 1024 * 1024

/** What came waits no longer than this for more: the time of the last write tells the sweep that a file is in use. */
const GATHER_MAX_MS = 10 * 60 * 1000

/** Chunks below this size are copied together first: hashing and writing cost more a call than a copy does. */
const SMALL_BYTES = 8 * 1024
const JOIN_BYTES = 64 * 1024

export interface Receiver {
  /** Bytes of the whole content so far, those received by earlier requests included. */
  readonly length: number
  /** The hashes of the full blocks so far. */
  readonly blocks: readonly Buffer[]
  /**
   * Takes the chunk, which must not change any more. When a promise is returned the caller must wait for it before
   * it writes again; it is rejected when writing failed, and from then on every call but close() and abandon() is.
   */
  write(chunk: Buffer): Promise<void> | undefined
  /** Everything written so far is durable when it resolves. Only then may a row record the length and the blocks. */
  sync(): Promise<void>
  /** The name of the whole content. */
  digest(): string
  /** Gives up what was written since the last sync(). May be called more than once. */
  close(): Promise<void>
  /**
   * Cuts the file back to `length`, at most the length it had at the start, and closes it: for a request that is
   * refused after some of its bytes came. Does nothing when the receiver is already closed.
   */
  abandon(length: number): Promise<void>
}

/** Receives into the file from the hasher's length on. `syncName` makes the name of the file durable. */
export function receiveInto(file: OpenFile, hasher: ContentHasher, syncName: () => Promise<void>): Receiver {
  return new FileReceiver(file, hasher, syncName)
}

class FileReceiver implements Receiver {
  readonly #file: OpenFile
  readonly #hasher: ContentHasher
  readonly #syncName: () => Promise<void>
  #gathered: Buffer[] = []
  #gatheredBytes = 0
  #position: number
  #joiner = Buffer.alloc(0)
  #joinedBytes = 0
  #writing: Promise<void> | undefined
  #failure: { error: unknown } | undefined
  #isClosed = false
  #writtenMs = Date.now()
  readonly #startLength: number

  constructor(file: OpenFile, hasher: ContentHasher, syncName: () => Promise<void>) {
    this.#file = file
    this.#hasher = hasher
    this.#syncName = syncName
    this.#position = hasher.length
    this.#startLength = hasher.length
  }

  get length(): number {
    return this.#hasher.length + this.#joinedBytes
  }

  get blocks(): readonly Buffer[] {
    this.#endJoining()
    return this.#hasher.blocks
  }

  write(chunk: Buffer): Promise<void> | undefined {
    if (this.#isClosed) return Promise.reject(new Error('The receiver is closed'))
    if (this.#failure !== undefined) return this.#written()
    if (chunk.length < SMALL_BYTES) {
      this.#join(chunk)
    } else {
      this.#endJoining()
      this.#gather(chunk)
    }
    const isOverdue = Date.now() - this.#writtenMs > GATHER_MAX_MS
    if (isOverdue) this.#endJoining()
    if (this.#gatheredBytes < GATHER_BYTES && !isOverdue) return undefined
    if (this.#writing !== undefined) return this.#written()
    this.#startWriting()
    return undefined
  }

  async sync(): Promise<void> {
    if (this.#isClosed) throw new Error('The receiver is closed')
    this.#endJoining()
    while (this.#writing !== undefined || this.#gatheredBytes > 0) {
      if (this.#writing === undefined) this.#startWriting()
      await this.#written()
    }
    await this.#written()
    try {
      await Promise.all([this.#file.sync(), this.#syncName()])
    } catch (error) {
      // After a failed sync the system may have dropped the bytes, and a second sync would not say so.
      this.#fail(withoutRoom(error))
      await this.#written()
    }
  }

  digest(): string {
    this.#endJoining()
    return this.#hasher.digest()
  }

  close(): Promise<void> {
    this.#isClosed = true
    this.#drop()
    return this.#file.close()
  }

  async abandon(length: number): Promise<void> {
    if (this.#isClosed) return this.close()
    this.#isClosed = true
    this.#drop()
    try {
      // A cut beyond what was there would fill the file with zeros that nobody sent.
      if (length > this.#startLength) throw new Error('Cannot cut a staged file to more than it had')
      await this.#writing
      await this.#file.truncate(length)
    } finally {
      await this.#file.close()
    }
  }

  #join(chunk: Buffer): void {
    if (this.#joiner.length < this.#joinedBytes + chunk.length) {
      this.#endJoining()
      if (this.#joiner.length < chunk.length) this.#joiner = Buffer.allocUnsafeSlow(JOIN_BYTES)
    }
    chunk.copy(this.#joiner, this.#joinedBytes)
    this.#joinedBytes += chunk.length
  }

  /** Gathers what was joined. The rest of the buffer takes the small chunks to come. */
  #endJoining(): void {
    if (this.#joinedBytes === 0) return
    const joined = this.#joiner.subarray(0, this.#joinedBytes)
    this.#joiner = this.#joiner.subarray(this.#joinedBytes)
    this.#joinedBytes = 0
    this.#gather(joined)
  }

  #gather(chunk: Buffer): void {
    this.#hasher.update(chunk)
    this.#gathered.push(chunk)
    this.#gatheredBytes += chunk.length
  }

  #startWriting(): void {
    const chunks = this.#gathered
    const position = this.#position
    this.#position += this.#gatheredBytes
    this.#gathered = []
    this.#gatheredBytes = 0
    this.#writtenMs = Date.now()
    this.#writing = this.#file.write(chunks, position).then(
      () => {
        this.#writing = undefined
        if (this.#gatheredBytes >= GATHER_BYTES) this.#startWriting()
      },
      (error: unknown) => {
        this.#writing = undefined
        this.#fail(error)
      },
    )
  }

  /** Waits for the piece in flight, if any, and is rejected when writing has failed. */
  async #written(): Promise<void> {
    await this.#writing
    if (this.#failure !== undefined) throw this.#failure.error
  }

  #fail(error: unknown): void {
    this.#failure ??= { error }
    this.#drop()
  }

  #drop(): void {
    this.#gathered = []
    this.#gatheredBytes = 0
  }
}
