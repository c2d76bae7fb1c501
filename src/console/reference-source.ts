/** What the reference page reads of an OpenAPI document, put together by route instead of by version. */

export interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
}

export interface Media {
  readonly schema?: Schema
  readonly example?: unknown
}

export interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: readonly string[]
  readonly items?: Schema
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

export interface Answer {
  readonly description: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: Readonly<Record<string, Media>>
}

export interface Operation {
  readonly summary?: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly description?: string; readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, Answer>>
  readonly 'x-codeSamples'?: readonly { readonly label: string; readonly source: string }[]
}

interface Source {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly tags?: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly components?: {
    readonly schemas?: Readonly<Record<string, Schema>>
    readonly securitySchemes?: Readonly<Record<string, { readonly description?: string }>>
  }
}

/** Something that some of the versions have in the same words. */
export interface Versioned<T> {
  readonly versions: readonly string[]
  readonly value: T
}

export interface ReferenceRoute {
  readonly method: string
  /** Without the prefix that names the version. */
  readonly path: string
  readonly anchor: string
  readonly versions: readonly string[]
  /** One a version, oldest first. */
  readonly operations: readonly Versioned<Operation>[]
}

export interface Reference {
  readonly info: Source['info']
  readonly tags: readonly { readonly name: string; readonly routes: readonly ReferenceRoute[] }[]
  readonly resources: readonly { readonly name: string; readonly schemas: readonly Versioned<Schema>[] }[]
  readonly authentication: readonly string[]
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']
const ADDRESS = /^\/api\/v(\d+\.\d+)(\/.*)$/
const SCHEMA_NAME = /^(.+)_(\d+)_(\d+)$/

export function readReference(document: object): Reference {
  const source = document as Source
  const routes = readRoutes(source)
  const names = source.tags?.map(({ name }) => name) ?? []
  return {
    info: source.info,
    tags: names.map((name) => ({ name, routes: routes.filter((route) => tagsOf(route).includes(name)) })),
    resources: readResources(source.components?.schemas ?? {}),
    authentication: Object.values(source.components?.securitySchemes ?? {}).flatMap(
      ({ description }) => description?.split('\n\n') ?? [],
    ),
  }
}

/** Joins what is equal, so that a difference between versions shows and a likeness does not repeat itself. */
export function merge<T>(items: readonly Versioned<T>[]): Versioned<T>[] {
  const groups = new Map<string, Versioned<T>>()
  for (const { versions, value } of items) {
    const key = JSON.stringify(value)
    groups.set(key, { value, versions: [...(groups.get(key)?.versions ?? []), ...versions] })
  }
  return [...groups.values()]
}

function readRoutes(source: Source): ReferenceRoute[] {
  const routes = new Map<string, ReferenceRoute>()
  for (const [address, item] of Object.entries(source.paths)) {
    const [, version, path] = ADDRESS.exec(address) ?? []
    if (version === undefined || path === undefined) continue
    for (const name of METHODS) {
      const operation = item[name] as Operation | undefined
      if (operation === undefined) continue
      const method = name.toUpperCase()
      const before = routes.get(`${method} ${path}`)
      routes.set(`${method} ${path}`, {
        method,
        path,
        anchor: `${name}${path.replaceAll(/[^a-z0-9]/gi, '-')}`,
        versions: [...(before?.versions ?? []), version],
        operations: [...(before?.operations ?? []), { versions: [version], value: operation }],
      })
    }
  }
  return [...routes.values()]
}

function tagsOf(route: ReferenceRoute): readonly string[] {
  return route.operations.flatMap(({ value }) => value.tags ?? [])
}

function readResources(schemas: Readonly<Record<string, Schema>>): Reference['resources'] {
  const resources = new Map<string, Versioned<Schema>[]>()
  for (const [fullName, schema] of Object.entries(schemas)) {
    const [, name, major = '', minor = ''] = SCHEMA_NAME.exec(fullName) ?? []
    if (name === undefined) continue
    resources.set(name, [...(resources.get(name) ?? []), { versions: [`${major}.${minor}`], value: schema }])
  }
  return [...resources].map(([name, list]) => ({ name, schemas: list }))
}
