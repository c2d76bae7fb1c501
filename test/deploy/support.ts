/** What `deploy` offers, read as data. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readYaml, type Yaml } from './yaml.js'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
export const DEPLOY = join(ROOT, 'deploy')

export function deployed(name: string): string {
  return readFileSync(join(DEPLOY, name), 'utf8')
}

export function deployedFiles(): string[] {
  return readdirSync(DEPLOY, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(DEPLOY.length + 1))
    .filter((name) => !name.startsWith('secrets'))
}

export type Mapping = Record<string, Yaml>

export function mapping(value: Yaml | undefined): Mapping {
  if (value === undefined || value === null) return {}
  if (typeof value !== 'object' || Array.isArray(value))
    throw new Error(`not a mapping: ${JSON.stringify(value)}`)
  return value
}

export function list(value: Yaml | undefined): Yaml[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw new Error(`not a list: ${JSON.stringify(value)}`)
  return value
}

export function texts(value: Yaml | undefined): string[] {
  return list(value).map((item) => textAt(item))
}

/** The value below some keys. */
export function at(value: Yaml | undefined, ...keys: string[]): Yaml | undefined {
  return keys.reduce<Yaml | undefined>((inner, key) => mapping(inner)[key], value)
}

export const compose = (): Mapping => mapping(readYaml(deployed('compose.yaml'))[0])

const MANIFESTS = ['namespace', 'nodes', 'balancer', 'network', 'secrets.example']

export function manifests(): Mapping[] {
  return MANIFESTS.flatMap((name) => readYaml(deployed(`kubernetes/${name}.yaml`))).map(mapping)
}

export function manifest(kind: string, name: string): Mapping {
  const found = manifests().find((one) => one['kind'] === kind && at(one, 'metadata', 'name') === name)
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`)
  return found
}

/** The only container of a workload. */
export function container(workload: Mapping): Mapping {
  const all = list(at(workload, 'spec', 'template', 'spec', 'containers'))
  if (all.length !== 1) throw new Error(`${all.length} containers`)
  return mapping(all[0])
}

/** Instructions of the Dockerfile with their continued lines joined, in stages. */
export function dockerStages(): { from: string; name: string | undefined; steps: string[][] }[] {
  const lines = deployed('Dockerfile')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
  const stages: { from: string; name: string | undefined; steps: string[][] }[] = []
  for (const line of lines) {
    const words = line.trim().split(/\s+/)
    if (words[0] === 'FROM') stages.push({ from: words[1] ?? '', name: words[3], steps: [] })
    else stages.at(-1)?.steps.push(words)
  }
  return stages
}

/** The text below some keys; empty if there is none. */
export function textAt(value: Yaml | undefined, ...keys: string[]): string {
  const found = at(value, ...keys) ?? ''
  if (typeof found !== 'string') throw new Error(`not a text: ${JSON.stringify(found)}`)
  return found
}

/** Milliseconds of `30s` or `30`. */
export function millisecondsOf(seconds: string): number {
  const match = /^(\d+)s?$/.exec(seconds)
  if (match === null) throw new Error(`not a number of seconds: ${seconds}`)
  return Number(match[1]) * 1000
}
