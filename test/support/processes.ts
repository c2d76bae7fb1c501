/** What the system knows about running processes. */
import { readdirSync, readFileSync } from 'node:fs'

export function processFields(
  pid: number,
): { state: string; parent: number; group: number; name: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state, parent, group] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return {
      state: state ?? '',
      parent: Number(parent),
      group: Number(group),
      name: text.slice(text.indexOf('(') + 1, text.lastIndexOf(')')),
    }
  } catch {
    return undefined
  }
}

/** A zombie no longer runs and does not count. */
export function livePids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => !['Z', undefined].includes(processFields(pid)?.state))
}

export function childrenOf(pid: number): number[] {
  return livePids().filter((child) => processFields(child)?.parent === pid)
}
