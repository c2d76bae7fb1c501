/**
 * Takes content as it arrives: copies it into one of two buffers of its own, and hashes and writes a full one with one
 * call each while the other fills. Copying costs little; keeping the small buffers that a socket gives costs the
 * collector of garbage a lot. A receiver holds two buffers whatever the size of the content.
 */
import { withoutRoom, type OpenFile } from './file.js'
import type { ContentHasher } from './hashing.js'
import type { YoungCollector } from './young-garbage.js'

/** This much is gathered before it is hashed and written. */
export const GATHER_BYTES = 512 * 1024

/** What came waits no longer than this for more: the time of the last write tells the sweep that a file is in use. */
const GATHER_MAX_MS = 10 * 60 * 1000

export interface Receiver {
  /** Bytes of the whole content so far, those received by earlier requests included. */
  readonly length: number
  /** The hashes of the full blocks so far. */
  readonly blocks: readonly Buffer[]
  /**
   * Takes the chunk, whose buffer is the caller's again as soon as no promise is to be waited for. When a promise is returned the caller must wait for it before
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

/** Lends the buffers that bodies are gathered in. A chunk of an upload would otherwise pay for two new ones. */
export interface Buffers {
  take(): Buffer
  giveBack(buffer: Buffer): void
}

/** Buffers beyond these are left to the collector of garbage when they come back. */
const SPARE_BUFFERS_MAX = 16

export function spareBuffers(): Buffers {
  const spare: Buffer[] = []
  return {
    take: () => spare.pop() ?? Buffer.allocUnsafeSlow(GATHER_BYTES),
    giveBack(buffer) {
      if (spare.length < SPARE_BUFFERS_MAX) spare.push(buffer)
    },
  }
}

/** Receives into the file from the hasher's length on. `syncName` makes the name of the file durable. */
export function receiveInto(
  file: OpenFile,
  hasher: ContentHasher,
  syncName: () => Promise<void>,
  { buffers = spareBuffers(), collect = () => undefined }: Partial<ReceiverParts> = {},
): Receiver {
  return new FileReceiver(file, hasher, syncName, { buffers, collect })
}

/** What the receivers of a process share. */
export interface ReceiverParts {
  readonly buffers: Buffers
  readonly collect: YoungCollector
}

class FileReceiver implements Receiver {
  readonly #file: OpenFile
  readonly #hasher: ContentHasher
  readonly #syncName: () => Promise<void>
  readonly #parts: ReceiverParts
  /** The buffer that fills, and the other one, which is free or being written. */
  #filling: Buffer | undefined
  #other: Buffer | undefined
  #filledBytes = 0
  /** How much of the filling buffer the hasher has seen. */
  #hashedBytes = 0
  #position: number
  #writing: Promise<void> | undefined
  #failure: { error: unknown } | undefined
  #isClosed = false
  #writtenMs = Date.now()
  readonly #startLength: number

  constructor(file: OpenFile, hasher: ContentHasher, syncName: () => Promise<void>, parts: ReceiverParts) {
    this.#parts = parts
    this.#file = file
    this.#hasher = hasher
    this.#syncName = syncName
    this.#position = hasher.length
    this.#startLength = hasher.length
  }

  get length(): number {
    return this.#hasher.length + this.#filledBytes - this.#hashedBytes
  }

  get blocks(): readonly Buffer[] {
    this.#hashFilled()
    return this.#hasher.blocks
  }

  write(chunk: Buffer): Promise<void> | undefined {
    if (this.#isClosed) return Promise.reject(new Error('The receiver is closed'))
    if (this.#failure !== undefined) return this.#written()
    const taken = this.#take(chunk, 0)
    if (taken < chunk.length) return this.#takeRest(chunk, taken)
    const isOverdue = Date.now() - this.#writtenMs > GATHER_MAX_MS
    if (isOverdue && this.#writing === undefined) this.#startWriting()
    return undefined
  }

  async sync(): Promise<void> {
    if (this.#isClosed) throw new Error('The receiver is closed')
    while (this.#writing !== undefined || this.#filledBytes > 0) {
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
    this.#hashFilled()
    return this.#hasher.digest()
  }

  close(): Promise<void> {
    this.#isClosed = true
    this.#drop()
    this.#letGo()
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
      this.#letGo()
      await this.#file.close()
    }
  }

  /** Copies from `from` on as far as there is a buffer to fill, and says how far it came. */
  #take(chunk: Buffer, from: number): number {
    let at = from
    while (at < chunk.length) {
      if (this.#filledBytes === GATHER_BYTES) {
        if (this.#writing !== undefined) return at
        this.#startWriting()
      }
      this.#filling ??= this.#parts.buffers.take()
      const count = chunk.copy(this.#filling, this.#filledBytes, at)
      this.#filledBytes += count
      at += count
    }
    if (this.#filledBytes === GATHER_BYTES && this.#writing === undefined) this.#startWriting()
    return at
  }

  /** Both buffers are full: waits for the one that is being written. */
  async #takeRest(chunk: Buffer, from: number): Promise<void> {
    for (let at = from; at < chunk.length; at = this.#take(chunk, at)) await this.#written()
  }

  #hashFilled(): void {
    if (this.#filling === undefined || this.#hashedBytes === this.#filledBytes) return
    this.#hasher.update(this.#filling.subarray(this.#hashedBytes, this.#filledBytes))
    this.#hashedBytes = this.#filledBytes
  }

  #startWriting(): void {
    const full = this.#filling
    if (full === undefined || this.#filledBytes === 0) return
    this.#hashFilled()
    this.#parts.collect(this.#filledBytes)
    const piece = full.subarray(0, this.#filledBytes)
    const position = this.#position
    this.#position += piece.length
    this.#filling = this.#other
    this.#other = undefined
    this.#filledBytes = 0
    this.#hashedBytes = 0
    this.#writtenMs = Date.now()
    this.#writing = this.#file.write([piece], position).then(
      () => {
        this.#writing = undefined
        this.#giveBack(full)
        if (this.#filledBytes === GATHER_BYTES) this.#startWriting()
      },
      (error: unknown) => {
        this.#writing = undefined
        this.#fail(error)
      },
    )
  }

  #giveBack(buffer: Buffer): void {
    if (this.#isClosed) this.#parts.buffers.giveBack(buffer)
    else if (this.#filling === undefined) this.#filling = buffer
    else this.#other = buffer
  }

  /** The buffers are free for another receiver; one that is being written comes back when that is over. */
  #letGo(): void {
    for (const buffer of [this.#filling, this.#other])
      if (buffer !== undefined) this.#parts.buffers.giveBack(buffer)
    this.#filling = undefined
    this.#other = undefined
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
    this.#filledBytes = 0
    this.#hashedBytes = 0
  }
}
