import { expect } from 'vitest'

export type Json = Record<string, unknown>

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']
const PLACES = ['path', 'query', 'header', 'cookie']

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function member(value: unknown, ...keys: string[]): Json {
  let current = value
  for (const key of keys) current = isObject(current) ? current[key] : undefined
  if (!isObject(current)) throw new Error(`no object at ${keys.join(' > ')}`)
  return current
}

/** The operations of a document by `METHOD path`. */
export function operations(document: object): Map<string, Json> {
  const found = new Map<string, Json>()
  for (const [path, item] of Object.entries(member(document, 'paths'))) {
    for (const [key, value] of Object.entries(isObject(item) ? item : {})) {
      if (METHODS.includes(key) && isObject(value)) found.set(`${key.toUpperCase()} ${path}`, value)
    }
  }
  return found
}

/** Checks the rules of OpenAPI 3.1 that a tool would stumble over. */
export function expectOpenApi(document: object): void {
  expect(member(document)['openapi']).toMatch(/^3\.1\.\d+$/)
  const info = member(document, 'info')
  expect([typeof info['title'], typeof info['version']]).toEqual(['string', 'string'])
  for (const [kind, components] of Object.entries(member(document, 'components'))) {
    for (const name of Object.keys(isObject(components) ? components : {})) {
      expect(name, kind).toMatch(/^[a-zA-Z0-9._-]+$/)
    }
  }
  for (const [path, item] of Object.entries(member(document, 'paths'))) {
    expect(path).toMatch(/^\//)
    const known = [...METHODS, 'summary', 'description', 'servers', 'parameters', '$ref']
    expect(Object.keys(item as Json).filter((key) => !known.includes(key))).toEqual([])
  }
  const ids = new Set<unknown>()
  for (const [name, operation] of operations(document)) {
    expect(ids.has(operation['operationId']), name).toBe(false)
    ids.add(operation['operationId'])
    expectOperation(document, name, operation)
  }
  expectReferences(document)
}

function expectOperation(document: object, name: string, operation: Json): void {
  const schemes = Object.keys(member(document, 'components', 'securitySchemes'))
  for (const requirement of operation['security'] as Json[]) {
    for (const scheme of Object.keys(requirement)) expect(schemes, name).toContain(scheme)
  }
  const parameters = (operation['parameters'] ?? []) as Json[]
  const keys = parameters.map((parameter) => `${String(parameter['in'])} ${String(parameter['name'])}`)
  expect(new Set(keys).size, name).toBe(keys.length)
  for (const parameter of parameters) {
    expect(PLACES, name).toContain(parameter['in'])
    expect(isObject(parameter['schema']), name).toBe(true)
    if (parameter['in'] === 'path') expect(parameter['required'], name).toBe(true)
  }
  const inTemplate = [...name.matchAll(/\{([^}]+)\}/g)].map(([, key]) => `path ${key}`)
  expect(keys.filter((key) => key.startsWith('path ')).sort(), name).toEqual(inTemplate.sort())
  const responses = Object.entries(member(operation, 'responses'))
  expect(responses.length, name).toBeGreaterThan(0)
  for (const [status, response] of responses) {
    expect(status, name).toMatch(/^([1-5]\d\d|default)$/)
    expect(typeof member(response)['description'], name).toBe('string')
  }
}

function expectReferences(document: object): void {
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit)
    if (!isObject(value)) return
    const reference = value['$ref']
    if (typeof reference === 'string') {
      expect(reference).toMatch(/^#\//)
      member(document, ...reference.slice(2).split('/'))
    }
    Object.values(value).forEach(visit)
  }
  visit(document)
}
