export type ContentState = 'AVAILABLE' | 'SYNCING' | 'DESELECTED' | 'INSUFFICIENT_STORAGE'

/** What is true on the node that answers. */
export type ContentFacts = {
  /** The node is set not to hold the folder of the file. */
  deselected: boolean
  /** The file has content, and the node has it. */
  isHere: boolean
  /** The node has no room for it. */
  spent: boolean
}

/** The facts in order of precedence. */
export function contentState({ deselected, isHere, spent }: ContentFacts): ContentState {
  if (deselected) return 'DESELECTED'
  if (isHere) return 'AVAILABLE'
  return spent ? 'INSUFFICIENT_STORAGE' : 'SYNCING'
}
