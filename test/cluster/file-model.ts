/** A file with content, as one client alone would see it: what histories of many clients are held against. */
import type { Model, Operation } from '../support/linearizability.js'

/** What the content is, in a word; undefined once the file is deleted. */
export type FileState = string | undefined

export type FileInput =
  | { readonly verb: 'read' }
  /** With `expected` the write carries the tag of that content as its condition. */
  | { readonly verb: 'write'; readonly content: string; readonly expected?: string }
  | { readonly verb: 'delete' }

export type FileOutput =
  { readonly status: 200; readonly content: string } | { readonly status: 204 | 404 | 412 }

export type FileOperation = Operation<FileInput, FileOutput>

const DELETED = 'deleted'

export function fileModel(initial: string): Model<{ content: FileState }, FileInput, FileOutput> {
  return {
    initial: { content: initial },
    nameOf: ({ content }) => (content === undefined ? DELETED : `content ${content}`),
    step({ content }, input, output) {
      if (output === undefined) return { content: effect(content, input) }
      const right = answer(content, input)
      if (right.status !== output.status) return undefined
      if (right.status === 200 && output.status === 200 && right.content !== output.content) return undefined
      return { content: effect(content, input) }
    },
  }
}

function answer(content: FileState, input: FileInput): FileOutput {
  if (content === undefined) return { status: 404 }
  if (input.verb === 'read') return { status: 200, content }
  if (input.verb === 'write' && input.expected !== undefined && input.expected !== content)
    return { status: 412 }
  return { status: 204 }
}

function effect(content: FileState, input: FileInput): FileState {
  if (answer(content, input).status !== 204) return content
  return input.verb === 'write' ? input.content : undefined
}
