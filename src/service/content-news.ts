import { listChangesBehind, newestSequence, type LoggedChange } from '../db/changes.js'
import type { Db } from '../db/db.js'

/** What the change log tells about content since it was last asked. */
export interface News {
  /** Content that files have got. */
  readonly contents: readonly string[]
  /** Something happened after which other content may be wanted, or content be wanted no more. */
  readonly isMoved: boolean
}

const ROWS_MAX = 1_000
/**
 * Lines are numbered before they are committed, so one may appear behind others. Those that come later than this are
 * made up for by the look at everything.
 */
const OVERLAP_ROWS = 200

const MOVES = /^(?:(?:file|folder)\.(?:place|move|delete)|mount\.|share\.|user\.delete|node\.)/

/** Reads the log from its present end on. */
export function contentNews(db: Db): { read(): Promise<News> } {
  let newest: number | undefined
  let seen = new Set<number>()

  async function readNew(): Promise<LoggedChange[]> {
    if (newest === undefined) {
      newest = await db.read(newestSequence)
      seen = new Set(Array.from({ length: OVERLAP_ROWS }, (_, back) => (newest ?? 0) - back))
      return []
    }
    const fresh: LoggedChange[] = []
    for (let from = newest - OVERLAP_ROWS; ;) {
      const rows = await db.read((tx) => listChangesBehind(tx, from, ROWS_MAX))
      fresh.push(...rows.filter(({ seq }) => !seen.has(seq)))
      for (const { seq } of rows) seen.add(seq)
      from = rows.at(-1)?.seq ?? from
      newest = Math.max(newest, from)
      if (rows.length < ROWS_MAX) break
    }
    const oldest = newest - OVERLAP_ROWS
    seen = new Set([...seen].filter((seq) => seq > oldest))
    return fresh
  }

  return {
    async read() {
      const rows = await readNew()
      const uploads = rows.filter(({ action }) => action === 'file.content')
      return {
        contents: uploads.flatMap(({ after }) => contentOf(after)),
        isMoved:
          uploads.some(({ before }) => contentOf(before).length > 0) ||
          rows.some(({ action }) => MOVES.test(action)),
      }
    },
  }
}

/** The content that a line names, if any. */
function contentOf(json: string): string[] {
  const { content } = JSON.parse(json) as { content?: unknown }
  return typeof content === 'string' ? [content] : []
}
