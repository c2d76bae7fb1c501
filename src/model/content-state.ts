export type ContentState = 'AVAILABLE' | 'SYNCING' | 'DESELECTED' | 'INSUFFICIENT_STORAGE'

/** What is true on the node that answers. */
export type ContentFacts = {
  /** The node is set not to hold the folder of the file. */
  deselected: boolean
  hasContent: boolean
  /** The capacity of the node is used up. */
  spent: boolean
}

/** The facts in order of precedence. */
export function contentState({ deselected, hasContent, spent }: ContentFacts): ContentState {
  if (deselected) return 'DESELECTED'
  if (hasContent) return 'AVAILABLE'
  return spent ? 'INSUFFICIENT_STORAGE' : 'SYNCING'
}
