/**
 * Entity tags: one of them in If-Range, lists of them in If-Match and If-None-Match. Tags are compared by
 * opaque value: the prefix `W/` and missing quotes make no difference.
 */

/** What a header asks for: any existing state, or one of these opaque values. */
export type TagCondition = { any: true } | { any: false; tags: string[] }

export function strongTag(opaque: string): string {
  return `"${opaque}"`
}

export function weakTag(opaque: string): string {
  return `W/"${opaque}"`
}

/**
 * Undefined when the header is absent, empty or blank. A malformed element contributes nothing,
 * but the condition still stands: a list of nothing but malformed elements matches no state.
 */
export function parseTagHeader(values: string | string[] | undefined): TagCondition | undefined {
  const text = (Array.isArray(values) ? values : [values ?? '']).filter((line) => !BLANK.test(line)).join(',')
  if (text === '') return undefined
  const tags: string[] = []
  for (const element of elements(text)) {
    if (element === '*') return { any: true }
    const opaque = parseTag(element)
    if (opaque !== undefined) tags.push(opaque)
  }
  return { any: false, tags }
}

/** The opaque value of a single tag; undefined when the text is anything else, a list of tags too. */
export function parseTag(text: string): string | undefined {
  const match = TAG.exec(text)
  return match?.[1] ?? match?.[2]
}

/** Current holds the opaque values of the present state: none when there is no such state. */
export function matchesTag(condition: TagCondition, current: readonly string[]): boolean {
  if (condition.any) return current.length > 0
  return condition.tags.some((tag) => current.includes(tag))
}

const BLANK = /^[ \t]*$/
// Quoted, or a bare token that holds no quote of either kind.
const TAG = /^(?:W\/)?(?:"([^"]*)"|(?!W\/)([^\s"',]+))$/
// A quote that opens an element hides the commas up to its end; one that is never closed hides none.
const ELEMENT = /[ \t]*((?:W\/)?"[^"]*"[^,]*|[^,]*)(?:,|$)/g

function elements(text: string): string[] {
  return Array.from(text.matchAll(ELEMENT), (match) => match[1]?.trimEnd() ?? '')
}
