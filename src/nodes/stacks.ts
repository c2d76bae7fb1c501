import { readFileSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { fileURLToPath } from 'node:url'

const PLACE = /(file:\/\/[^\s()]+\.js):(\d+):(\d+)/g

/**
 * Tells the places of a stack as those of the sources that the program was built from. The maps are read for the first
 * stack and kept: a start should not have to wait for them, nor should one error after the other.
 */
export function sourcePlaces(): (stack: string) => string {
  const maps = new Map<string, SourceMap | undefined>()

  function mapOf(url: string): SourceMap | undefined {
    if (!maps.has(url)) maps.set(url, readMap(url))
    return maps.get(url)
  }

  return (stack) =>
    stack.replace(PLACE, (text, url: string, line: string, column: string) => {
      const found = mapOf(url)?.findEntry(Number(line) - 1, Number(column) - 1)
      if (found === undefined || !('originalSource' in found)) return text
      const source = found.originalSource.replace(/^(\.\.\/)+/, '')
      return `${source}:${found.originalLine + 1}:${found.originalColumn + 1}`
    })
}

function readMap(url: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(fileURLToPath(`${url}.map`), 'utf8')) as SourceMapPayload)
  } catch {
    // Most of what is not ours has none; a stack without it is better than no stack.
    return undefined
  }
}
