import type { ObjectRow } from '../db/objects.js'
import type { Exchange } from '../http/exchange.js'
import { Failure } from '../model/failures.js'
import { matchesTag, parseTagHeader, strongTag, type TagCondition } from '../model/tags.js'
import type { ContentState } from '../model/content-state.js'

const STATE_MARKS: Readonly<Partial<Record<ContentState, string>>> = {
  DESELECTED: 'd',
  INSUFFICIENT_STORAGE: 'i',
  SYNCING: 's',
}

/**
 * The opaque tag of an object's metadata: its identity and revision. A content state that only this node knows adds
 * a mark, so that a conditional GET sees it change; a condition on a write ignores the mark.
 */
export function metadataTag(object: ObjectRow, state?: ContentState): string {
  // A file without content is as it is on every node.
  const isPlain = state === undefined || (state === 'SYNCING' && object.content === null)
  const mark = isPlain ? undefined : STATE_MARKS[state]
  return `${object.sid.slice(0, 8)}${object.oid.slice(0, 16)}-${object.rev}${mark ?? ''}`
}

function metadataTags(object: ObjectRow): string[] {
  const plain = metadataTag(object)
  return object.kind === 'file' ? [plain, ...Object.values(STATE_MARKS).map((mark) => plain + mark)] : [plain]
}

/** Whether If-Match lets a write of the object's metadata go on; decided in the transaction that writes. */
export function ifMatchHolds(exchange: Exchange, object: ObjectRow): boolean {
  const condition = conditionOf(exchange, 'if-match')
  return condition === undefined || matchesTag(condition, writableTags(object))
}

/** The same for a write of a file's content: a file without content satisfies no condition. */
export function checkContentCondition(exchange: Exchange, object: ObjectRow): void {
  const condition = conditionOf(exchange, 'if-match')
  if (condition === undefined) return
  if (object.content === null) {
    throw new Failure('preconditionFailed', 'If-Match cannot match: the file has no content')
  }
  if (!matchesTag(condition, writableTags(object))) throw preconditionFailed(strongTag(object.content))
}

/** If-Match of a write of something that has one tag. */
export function checkIfMatch(exchange: Exchange, opaque: string, tag: string): void {
  const condition = conditionOf(exchange, 'if-match')
  if (condition !== undefined && !matchesTag(condition, [opaque])) throw preconditionFailed(tag)
}

/** Tells the tag that would have matched. */
export function preconditionFailed(tag: string): Failure {
  return new Failure('preconditionFailed', 'If-Match names no current entity tag', { ETag: tag })
}

/** Clients mix up the tags of a file's metadata and of its content, so a write takes either. */
function writableTags(object: ObjectRow): string[] {
  const tags = metadataTags(object)
  return object.content === null ? tags : [...tags, object.content]
}

/** Whether If-None-Match says that the client has this representation already. */
export function isUnmodified(exchange: Exchange, tag: string): boolean {
  const condition = conditionOf(exchange, 'if-none-match')
  return condition !== undefined && matchesTag(condition, [tag])
}

/** Reads the header line by line: joined, two blank lines would look like a list and no longer count as absent. */
function conditionOf(exchange: Exchange, name: 'if-match' | 'if-none-match'): TagCondition | undefined {
  const { req } = exchange
  return req.headers[name] === undefined ? undefined : parseTagHeader(req.headersDistinct[name])
}
