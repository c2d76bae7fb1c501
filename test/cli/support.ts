import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import type { CommandResult } from '../support/server.js'

/** An empty folder that goes away with the test. */
export async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'starling-cli-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

export async function newConfig(text: string): Promise<string> {
  const path = join(await newFolder(), 'starling.toml')
  await writeFile(path, text)
  return path
}

/** Nothing on standard output, one clear line on standard error. */
export function expectRefusal(result: CommandResult, status: 1 | 2, pattern: RegExp = /./): void {
  expect(result.stderr).toMatch(/^starling: [^\n]+\n$/)
  expect(result.stderr).toMatch(pattern)
  expect(result.stderr).not.toMatch(/ {4}at |node:internal/)
  expect(result.stdout).toBe('')
  expect(result.status).toBe(status)
}

/** The one JSON value that a command printed. */
export function printedJson<T>(result: CommandResult): T {
  expect(result.stderr).toBe('')
  expect(result.status).toBe(0)
  expect(result.stdout.endsWith('\n')).toBe(true)
  return JSON.parse(result.stdout) as T
}
