/** The bounds of the transfer that fills a node's own copy of content. */
export interface BringingLimits {
  /** Transfers under way at a time. */
  readonly atOnce: number
  /** How often the change log is looked at when nobody rings. */
  readonly lookEveryMs: number
  /** Between two looks at everything there is at least this time, and twenty times that which the last one took. */
  readonly scanGapMs: number
  /** What no signal and no line of the log told of is noticed after this time at the latest. */
  readonly scanEveryMs: number
  /** Files are compared with the books this often, beginning with the start. */
  readonly auditEveryMs: number
  /** The first wait before content that could not be brought is tried again; it doubles up to the second. */
  readonly retryMs: number
  readonly retryMaxMs: number
  /** The same for a content store that is away. */
  readonly stallMs: number
  readonly stallMaxMs: number
  /** Rows that are looked at together. */
  readonly pageRows: number
}

export const BRINGING_LIMITS: BringingLimits = {
  atOnce: 4,
  lookEveryMs: 1_000,
  scanGapMs: 500,
  scanEveryMs: 60_000,
  auditEveryMs: 60 * 60_000,
  retryMs: 1_000,
  retryMaxMs: 60 * 60_000,
  stallMs: 500,
  stallMaxMs: 15_000,
  pageRows: 1_000,
}

/** Waits double from one try to the next and are random in their upper half, so that nodes do not come in step. */
export function backOff(firstMs: number, maxMs: number, tries: number): number {
  const boundMs = Math.min(firstMs * 2 ** Math.min(tries, 30), maxMs)
  return Math.round(boundMs * (0.5 + Math.random() / 2))
}
