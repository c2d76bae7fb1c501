/** The words that the processes of a node say to each other. */
import { Socket } from 'node:net'
import type { Signal, Turnstile } from '../service/deps.js'
import type { Hasher } from '../service/hasher.js'
import { once, type EnterRequest, type EnterResult } from './turnstile.js'

export type ToPrimary =
  | { readonly say: 'ready' }
  | { readonly say: 'took'; readonly ticket: number }
  | { readonly say: 'failed'; readonly message: string }
  | ({ readonly say: 'enter'; readonly ticket: number } & EnterRequest)
  | { readonly say: 'leave'; readonly ticket: number }
  | { readonly say: 'signal'; readonly signal: Signal }
  | { readonly say: 'want'; readonly hash: string }
  | { readonly say: 'metrics?'; readonly question: number }
  | HashQuestion

/** Without a hash to compare with, one is made. */
interface HashQuestion {
  readonly say: 'hash?'
  readonly question: number
  readonly password: string
  readonly hash: string | undefined
}

export type ToWorker =
  | { readonly say: 'entered'; readonly ticket: number; readonly result: EnterResult }
  | { readonly say: 'signal'; readonly signal: Signal }
  | { readonly say: 'full'; readonly isFull: boolean }
  | { readonly say: 'metrics'; readonly question: number; readonly text: string }
  | { readonly say: 'hashed'; readonly question: number; readonly result: string | boolean | undefined }
  /** Comes with the connection itself. */
  | { readonly say: 'connection'; readonly ticket: number }
  | { readonly say: 'drain' }
  | { readonly say: 'stop' }

/** As much of a worker as it takes to speak to it. */
export interface Hearer {
  isConnected(): boolean
  send(message: ToWorker, sent: (error: Error | null) => void): boolean
}

/**
 * Says something to a worker. One that died this moment still counts as connected, and without somebody to tell about it
 * the failure to reach it would end the primary, and the node with it; that it is gone is heard from its exit.
 */
export function tellWorker(worker: Hearer, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined)
}

export interface WorkerChannel {
  readonly turnstile: Turnstile
  /** `sent` is called when the message is on its way, or cannot be sent any more. */
  tell(message: ToPrimary, sent?: () => void): void
  /** What all processes of the node have counted. */
  metrics(): Promise<string>
  /** The one of the node: however many processes serve, one thread hashes. */
  readonly hasher: Hasher
}

/** A worker's end of the channel to the primary. */
export function workerChannel(handlers: {
  onConnection(socket: Socket): void
  onSignal(signal: Signal): void
  onDrain(): void
  onStop(): void
}): WorkerChannel {
  const entering = new Map<number, (result: EnterResult) => void>()
  const asking = new Map<number, (text: string) => void>()
  const hashing = new Map<number, (result: string | boolean | undefined) => void>()
  let lastNumber = 0
  let isFull = false

  const tell = (message: ToPrimary, sent?: () => void): void => {
    // Without somebody to tell about it, a primary that is gone would end the worker with a stack trace.
    process.send?.(message, undefined, undefined, sent ?? (() => undefined))
  }

  process.on('message', (received: ToWorker | { say?: undefined }, handle: unknown) => {
    if (received.say === 'connection') {
      tell({ say: 'took', ticket: received.ticket })
      if (handle instanceof Socket) handlers.onConnection(handle)
    } else if (received.say === 'entered') settle(entering, received.ticket, received.result)
    else if (received.say === 'metrics') settle(asking, received.question, received.text)
    else if (received.say === 'hashed') settle(hashing, received.question, received.result)
    else if (received.say === 'full') isFull = received.isFull
    else if (received.say === 'signal') handlers.onSignal(received.signal)
    else if (received.say === 'drain') handlers.onDrain()
    else if (received.say === 'stop') handlers.onStop()
  })

  async function hash(password: string, known: string | undefined): Promise<string | boolean> {
    const question = (lastNumber += 1)
    const result = await new Promise<string | boolean | undefined>((resolve) => {
      hashing.set(question, resolve)
      tell({ say: 'hash?', question, password, hash: known })
    })
    if (result === undefined) throw new Error('the primary could not hash')
    return result
  }

  return {
    tell,
    turnstile: {
      get isFull() {
        return isFull
      },
      async enter(request) {
        const ticket = (lastNumber += 1)
        const result = await new Promise<EnterResult>((resolve) => {
          entering.set(ticket, resolve)
          tell({ say: 'enter', ticket, slot: request.slot, lock: request.lock })
        })
        return result === 'entered' ? once(() => tell({ say: 'leave', ticket })) : result
      },
    },
    metrics: () =>
      new Promise((resolve) => {
        const question = (lastNumber += 1)
        asking.set(question, resolve)
        tell({ say: 'metrics?', question })
      }),
    hasher: {
      hash: async (password) => String(await hash(password, undefined)),
      verify: async (known, password) => (await hash(password, known)) === true,
    },
  }
}

/** The primary's answer to a worker that wants something hashed. */
export async function answerHash(
  hasher: Hasher,
  { question, password, hash }: HashQuestion,
): Promise<ToWorker> {
  const work = hash === undefined ? hasher.hash(password) : hasher.verify(hash, password)
  const result = await work.catch(() => undefined)
  return { say: 'hashed', question, result }
}

function settle<T>(waiting: Map<number, (value: T) => void>, number: number, value: T): void {
  waiting.get(number)?.(value)
  waiting.delete(number)
}
