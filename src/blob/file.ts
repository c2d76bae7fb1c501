/**
 * An open file by its raw descriptor. Closing waits for the calls that are under way: a descriptor closed under a
 * call may by then belong to another file.
 */
import { close, fstat, ftruncate, open, read, writev } from 'node:fs'
import { unlink } from 'node:fs/promises'
import { promisify } from 'node:util'
import { Failure } from '../model/failures.js'
import { errorCode, syncFile } from './sync.js'

const openDescriptor = promisify(open)
const closeDescriptor = promisify(close)
const statDescriptor = promisify(fstat)
const truncateDescriptor = promisify(ftruncate)

export async function openFile(path: string, flags: 'r' | 'r+' | 'w'): Promise<OpenFile> {
  try {
    return new OpenFile(await openDescriptor(path, flags, 0o600))
  } catch (error) {
    throw withoutRoom(error)
  }
}

export class OpenFile {
  readonly #descriptor: number
  #callsUnderWay = 0
  #closing: Promise<void> | undefined
  #idle: (() => void) | undefined

  constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  /** Reads until `length` bytes are in the buffer or the file ends. */
  read(buffer: Buffer, position: number, length: number): Promise<number> {
    return this.#call(async (descriptor) => {
      let total = 0
      while (total < length) {
        const count = await readOnce(descriptor, buffer, total, length - total, position + total)
        if (count === 0) break
        total += count
      }
      return total
    })
  }

  /** Writes all of the chunks, one after another, from `position` on. */
  write(chunks: readonly Buffer[], position: number): Promise<void> {
    return this.#call(async (descriptor) => {
      let rest = chunks
      let at = position
      while (rest.length > 0) {
        const count = await writeOnce(descriptor, rest, at)
        at += count
        rest = after(rest, count)
      }
    })
  }

  size(): Promise<number> {
    return this.#call(async (descriptor) => (await statDescriptor(descriptor)).size)
  }

  truncate(length: number): Promise<void> {
    return this.#call((descriptor) => truncateDescriptor(descriptor, length))
  }

  sync(): Promise<void> {
    return this.#call(syncFile)
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeWhenIdle()
    return this.#closing
  }

  async #closeWhenIdle(): Promise<void> {
    if (this.#callsUnderWay > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve
      })
    }
    await closeDescriptor(this.#descriptor)
  }

  async #call<T>(body: (descriptor: number) => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw new Error('The file is closed')
    this.#callsUnderWay += 1
    try {
      return await body(this.#descriptor)
    } catch (error) {
      throw withoutRoom(error)
    } finally {
      this.#callsUnderWay -= 1
      if (this.#callsUnderWay === 0) this.#idle?.()
    }
  }
}

/** Removing a file that is not there is fine. */
export async function unlinkIfPresent(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
  }
}

/** The failure to answer with when the disk or its quota is full; any other error as it is. */
export function withoutRoom(error: unknown): unknown {
  const code = errorCode(error)
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error
  return new Failure('insufficientStorage', 'There is not enough room to store the content')
}

function readOnce(
  descriptor: number,
  buffer: Buffer,
  offset: number,
  length: number,
  position: number,
): Promise<number> {
  return new Promise((resolve, reject) => {
    read(descriptor, buffer, offset, length, position, (error, count) => {
      if (error) reject(error)
      else resolve(count)
    })
  })
}

function writeOnce(descriptor: number, chunks: readonly Buffer[], position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    writev(descriptor, chunks, position, (error, count) => {
      if (error) reject(error)
      else resolve(count)
    })
  })
}

/** What is left of the chunks after the first `count` bytes. */
function after(chunks: readonly Buffer[], count: number): readonly Buffer[] {
  let skipped = 0
  for (const [index, chunk] of chunks.entries()) {
    if (skipped + chunk.length > count) {
      return [chunk.subarray(count - skipped), ...chunks.slice(index + 1)]
    }
    skipped += chunk.length
  }
  return []
}
