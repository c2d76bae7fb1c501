import type { ContentRange } from './content-range.js'
import { Failure } from './failures.js'

/** What an upload request asks for, decided from its headers and what was received before, without its body. */
export type UploadPlan =
  /** The body is the whole content; `bytes` is its length where the request states one. */
  | { readonly kind: 'whole'; readonly bytes: number | undefined }
  /** An Upload-ID is asked for. */
  | { readonly kind: 'begin'; readonly bytes: 0 }
  /** How far the upload is. */
  | { readonly kind: 'status'; readonly bytes: 0 }
  /** What was received is the content. */
  | { readonly kind: 'complete'; readonly bytes: 0 }
  /** The body goes in at `first`; `completes` when the content is whole with it. */
  | {
      readonly kind: 'chunk'
      readonly first: number
      readonly bytes: number
      readonly total: number | undefined
      readonly completes: boolean
    }

/** What is known of the Upload-ID that a request carries. */
export type KnownUpload =
  { readonly id: string; readonly received: number } | 'none' | { readonly unknown: string }

/** The headers that tell a client how far its upload is. */
export function progressHeaders(id: string, received: number): Record<string, string> {
  return received === 0 ? { 'Upload-ID': id } : { 'Upload-ID': id, Range: `bytes=0-${received - 1}` }
}

/** Throws what the table of uploads refuses: badArgs, or rangeNotSatisfiable for a gap. */
export function planUpload(range: ContentRange | undefined, upload: KnownUpload): UploadPlan {
  if (range === undefined) return { kind: 'whole', bytes: undefined }
  if (upload === 'none') return planFirst(range)
  if ('unknown' in upload) throw notUsable(upload.unknown, range)
  if (range.first === undefined || range.last === undefined) return planEmpty(range.total, upload)
  if (range.first > upload.received) {
    throw new Failure(
      'rangeNotSatisfiable',
      'Content-Range starts after the last received byte',
      progressHeaders(upload.id, upload.received),
    )
  }
  return chunk(range.first, range.last, range.total)
}

function planFirst(range: ContentRange): UploadPlan {
  const { first, last, total } = range
  if (first === undefined || last === undefined) {
    return total === undefined ? { kind: 'begin', bytes: 0 } : { kind: 'whole', bytes: total }
  }
  if (first !== 0) throw new Failure('badArgs', 'Content-Range of a first chunk must start at 0')
  if (total === last + 1) return { kind: 'whole', bytes: total }
  return chunk(first, last, total)
}

/** A request with an Upload-ID and no byte range: a status query or the end of an upload. */
function planEmpty(total: number | undefined, upload: { id: string; received: number }): UploadPlan {
  if (total === upload.received) return { kind: 'complete', bytes: 0 }
  if (upload.received > 0) return { kind: 'status', bytes: 0 }
  throw new Failure('badArgs', 'nothing was received for this Upload-ID', { 'Upload-ID': upload.id })
}

function chunk(first: number, last: number, total: number | undefined): UploadPlan {
  return { kind: 'chunk', first, bytes: last - first + 1, total, completes: total === last + 1 }
}

/** An unknown, an unused and a completed identifier are not told apart by a status query: each is repeated. */
function notUsable(id: string, range: ContentRange): Failure {
  const isStatusQuery = range.first === undefined && range.total === undefined
  return new Failure(
    'badArgs',
    'Upload-ID is not valid for this file',
    isStatusQuery ? { 'Upload-ID': id } : {},
  )
}
