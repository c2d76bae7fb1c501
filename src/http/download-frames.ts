import { FramePool } from './frame-pool.js'
import type { FrameLoan } from './frame-pool.js'

/** Content bytes of one chunk; larger ones cost less processor time, but a reader that stops holds them. */
const CHUNK_BYTES = 262_144
const LARGE_CHUNK_BYTES = 1_048_576
/** One piece is with the socket while the next one is read. */
const FRAMES_AT_ONCE = 2

/** The large frames of all downloads of a listener, as many as fit into these bytes. */
export function largeFramePool(bytes: number): FramePool {
  return new FramePool(LARGE_CHUNK_BYTES, Math.floor(bytes / LARGE_CHUNK_BYTES))
}

/**
 * The frames of one download: small ones of its own, and large ones out of those that all downloads share, as long as
 * there are some, it has as many bytes to send, and its reader is quick.
 */
export class DownloadFrames {
  readonly #own: FramePool
  readonly #large: FramePool
  readonly #slowPieceMs: number
  readonly #lent = new Set<FrameLoan>()
  /** Undefined until the first piece has been taken; a reader that was slow once is never quick again. */
  #isQuick: boolean | undefined

  constructor(large: FramePool, slowPieceMs: number, longestRange: number) {
    this.#large = large
    this.#slowPieceMs = slowPieceMs
    this.#own = new FramePool(Math.min(longestRange, CHUNK_BYTES), FRAMES_AT_ONCE)
  }

  /** For the next piece out of a range of which this many bytes are left. */
  take(rangeRest: number): FrameLoan {
    const deservesLarge = this.#isQuick === true && rangeRest >= LARGE_CHUNK_BYTES
    const loan = (deservesLarge ? this.#large.take() : undefined) ?? this.#own.take()
    if (loan === undefined) throw new Error('a download has more pieces under way than frames')
    this.#lent.add(loan)
    return loan
  }

  /** The socket has taken every byte of the frame and said so: nothing reads from it any more. */
  taken(loan: FrameLoan, pieceMs: number): void {
    this.#isQuick = this.#isQuick !== false && pieceMs <= this.#slowPieceMs
    if (this.#lent.delete(loan)) loan.end('free')
  }

  /** The download is over. A frame of which nobody said that it was taken may still be read from. */
  close(): void {
    for (const loan of this.#lent) loan.end('lost')
    this.#lent.clear()
  }
}
