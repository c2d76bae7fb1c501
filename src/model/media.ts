import { types } from 'mime-types'

const UNKNOWN_TYPE = 'application/octet-stream'

/** The media type that the extension of a name stands for, without parameters. */
export function mimeType(name: string): string {
  const dot = name.lastIndexOf('.')
  // A name that begins with its only dot is a hidden file without extension.
  if (dot <= 0) return UNKNOWN_TYPE
  return types[name.slice(dot + 1).toLowerCase()] ?? UNKNOWN_TYPE
}

/** A Content-Disposition value: a fallback for old clients, and the exact name in the extended form. */
export function contentDisposition(name: string): string {
  const disposition = isHarmless(mimeType(name)) ? 'inline' : 'attachment'
  return `${disposition}; filename="${asciiName(name)}"; filename*=UTF-8''${extendedName(name)}`
}

/**
 * Whether a browser can show the type without running anything in it. All other types are offered
 * for download, because a page on the origin of the API could act in the name of whoever opens it.
 */
function isHarmless(type: string): boolean {
  if (type === 'text/plain') return true
  if (type.endsWith('+xml')) return false
  return type.startsWith('image/') || type.startsWith('audio/') || type.startsWith('video/')
}

/** Some browsers decode `%41` in the fallback, so the percent sign goes as well. */
function asciiName(name: string): string {
  return name.replace(/[^\u0020-\u007e]|["\\/%]/gu, '_')
}

/** RFC 5987 forbids four characters that encodeURIComponent leaves alone. */
function extendedName(name: string): string {
  return encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
