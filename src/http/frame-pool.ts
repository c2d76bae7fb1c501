import { contentFrame } from './content-frame.js'

/** A frame that one download uses alone until it ends the loan. */
export interface FrameLoan {
  readonly frame: Buffer
  /** Bytes of content that fit into it. */
  readonly chunkBytes: number
  /**
   * `free`: nothing reads from the frame or writes into it any more, so the next download may have it. `lost`:
   * something still might, so it is left to the garbage collector. Only the first call counts.
   */
  end(outcome: 'free' | 'lost'): void
}

/** Frames of one size that are used again and again: at most this many are lent at once. */
export class FramePool {
  readonly #chunkBytes: number
  readonly #framesMax: number
  readonly #idle: Buffer[] = []
  #lent = 0

  constructor(chunkBytes: number, framesMax: number) {
    this.#chunkBytes = chunkBytes
    this.#framesMax = framesMax
  }

  /** Undefined when all are lent. */
  take(): FrameLoan | undefined {
    if (this.#lent >= this.#framesMax) return undefined
    this.#lent += 1
    const frame = this.#idle.pop() ?? contentFrame(this.#chunkBytes)
    let isOver = false
    return {
      frame,
      chunkBytes: this.#chunkBytes,
      end: (outcome) => {
        if (isOver) return
        isOver = true
        this.#lent -= 1
        if (outcome === 'free') this.#idle.push(frame)
      },
    }
  }
}
