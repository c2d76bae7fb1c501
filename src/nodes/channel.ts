/** The words that the processes of a node say to each other. */
import type { Signal, Turnstile } from '../service/deps.js'
import { once, type EnterRequest, type EnterResult } from './turnstile.js'

export type ToPrimary =
  | { readonly say: 'listening'; readonly port: number }
  | { readonly say: 'failed'; readonly message: string }
  | ({ readonly say: 'enter'; readonly ticket: number } & EnterRequest)
  | { readonly say: 'leave'; readonly ticket: number }
  | { readonly say: 'signal'; readonly signal: Signal }
  | { readonly say: 'want'; readonly hash: string }
  | { readonly say: 'metrics?'; readonly question: number }

export type ToWorker =
  | { readonly say: 'entered'; readonly ticket: number; readonly result: EnterResult }
  | { readonly say: 'signal'; readonly signal: Signal }
  | { readonly say: 'full'; readonly isFull: boolean }
  | { readonly say: 'metrics'; readonly question: number; readonly text: string }
  | { readonly say: 'stop' }

export interface WorkerChannel {
  readonly turnstile: Turnstile
  /** `sent` is called when the message is on its way, or cannot be sent any more. */
  tell(message: ToPrimary, sent?: () => void): void
  /** What all processes of the node have counted. */
  metrics(): Promise<string>
}

/** A worker's end of the channel to the primary. */
export function workerChannel(handlers: { onSignal(signal: Signal): void; onStop(): void }): WorkerChannel {
  const entering = new Map<number, (result: EnterResult) => void>()
  const asking = new Map<number, (text: string) => void>()
  let lastNumber = 0
  let isFull = false

  const tell = (message: ToPrimary, sent?: () => void): void => {
    process.send?.(message, undefined, undefined, sent)
  }

  process.on('message', (received: ToWorker | { say?: undefined }) => {
    if (received.say === 'entered') settle(entering, received.ticket, received.result)
    else if (received.say === 'metrics') settle(asking, received.question, received.text)
    else if (received.say === 'full') isFull = received.isFull
    else if (received.say === 'signal') handlers.onSignal(received.signal)
    else if (received.say === 'stop') handlers.onStop()
  })

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
  }
}

function settle<T>(waiting: Map<number, (value: T) => void>, number: number, value: T): void {
  waiting.get(number)?.(value)
  waiting.delete(number)
}
