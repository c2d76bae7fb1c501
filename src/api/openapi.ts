import { isObjectNeed, scopesOf } from '../gate/needs.js'
import { SCOPES, type ScopeName } from '../model/scopes.js'
import { V1_0, versionText, within, type Version } from '../model/version.js'
import type { Schema } from './fields.js'
import { answersOf, headerComponents } from './openapi-answers.js'
import {
  EXAMPLE_FILE_ID,
  EXAMPLE_FOLDER_ID,
  FILE_ID,
  folderIdSchema,
  resourceDoc,
  resourcesOf,
  schemaName,
  schemaReference,
  type ResourceDoc,
} from './openapi-resources.js'
import { SEGMENTS } from './openapi-segments.js'
import { curlSamples } from './openapi-samples.js'
import type { ParameterDoc, Route } from './route.js'
import type { Resource } from './resources.js'
import { ROUTES } from './routes.js'

type Resources = Readonly<Partial<Record<Resource, ResourceDoc>>>

/** The description of the whole API in all versions that are served, made from the tables that serve it. */
export function openApi(options: { versions: readonly Version[]; baseUrl: string }): object {
  const { versions, baseUrl } = options
  const paths: Record<string, Record<string, unknown>> = {}
  const schemas: Record<string, Schema> = {}
  for (const version of versions) {
    const resources = resourcesOf(version)
    for (const [name, { schema }] of Object.entries(resources)) {
      schemas[schemaName(name as Resource, version)] = schema
    }
    for (const route of ROUTES) {
      if (!within(version, route.since, route.until)) continue
      const path = addressOf(route, version)
      const item = (paths[path] ??= { description: methodsText(route.path, version) })
      item[route.method.toLowerCase()] = operation(route, version, resources, baseUrl)
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Starling API',
      version: versions.map(versionText).join(', '),
      description: INTRODUCTION.join('\n\n'),
    },
    servers: [{ url: baseUrl }],
    tags: [...new Set(ROUTES.map(({ doc }) => doc.tag))].map((name) => ({ name })),
    paths,
    components: { schemas, headers: headerComponents(), securitySchemes: securitySchemes() },
  }
}

const INTRODUCTION = [
  'Bodies are JSON in UTF-8 unless a route says otherwise; the content of a file is raw bytes. Times are UTC.',
  'Every call carries an access token: Authorization: Bearer and the token.',
  'Every refusal has a JSON body with type and message, except 416, which has none. Unknown query parameters and ' +
    'unknown keys of a body are ignored; answers may gain keys.',
  'HEAD works wherever GET does and answers with the headers alone. OPTIONS needs no token and answers 204 with ' +
    'Allow. Scripts of every origin may call.',
  'Entity tags are opaque. If-Match and If-None-Match take a list of them or *.',
  'Answers set the cookie route, which names the node that answered. With Endpoint-Consistency: strict the session ' +
    'stays with that node, and 503 says that it cannot.',
]

function addressOf(route: Route, version: Version): string {
  return `/api/v${versionText(version)}${route.path.replaceAll(PARAMETER, '{$1}')}`
}

const PARAMETER = /:([a-z_]+)/g

function methodsText(path: string, version: Version): string {
  const methods = ROUTES.filter(
    (route) => route.path === path && within(version, route.since, route.until),
  ).flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  return `Methods: ${[...methods, 'OPTIONS'].join(', ')}.`
}

function operation(route: Route, version: Version, resources: Resources, baseUrl: string): object {
  const { doc, method } = route
  const parameters = parametersOf(route, version)
  return {
    operationId: operationId(route, version),
    summary: doc.summary,
    ...(method === 'GET' ? { description: 'HEAD answers with the headers alone.' } : {}),
    tags: [doc.tag],
    security: securityOf(route, version),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(doc.accepts === undefined ? {} : { requestBody: requestBody(doc.accepts, version, resources) }),
    responses: answersOf(route, version, resources),
    'x-codeSamples': curlSamples({
      route,
      url: baseUrl + addressOf(route, version),
      ids: Object.fromEntries(
        parameters.flatMap(({ in: place, name, example }) => (place === 'path' ? [[name, example]] : [])),
      ),
      body:
        doc.accepts === undefined || doc.accepts === 'bytes'
          ? undefined
          : resourceDoc(resources, doc.accepts).example,
    }),
  }
}

/** Such as `get_folders_by_id_v1_3`. */
function operationId(route: Route, version: Version): string {
  const segments = route.path.slice(1).split('/')
  const words = segments.map((segment) => (segment === '' ? 'empty' : segment.replace(':', 'by_')))
  return `${route.method.toLowerCase()}_${words.join('_')}_v${versionText(version).replace('.', '_')}`
}

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: true
  readonly description: string
  readonly schema: Schema
  readonly example?: string
}

function parametersOf(route: Route, version: Version): Parameter[] {
  const { doc } = route
  return [
    ...[...route.path.matchAll(PARAMETER)].map(([, name = '']) => pathParameter(route, name, version)),
    ...namedParameters('query', doc.query, version),
    ...namedParameters('header', doc.headers, version),
  ]
}

function pathParameter(route: Route, name: string, version: Version): Parameter {
  const need = Object.values(route.rule.needs)
    .filter(isObjectNeed)
    .find(({ from }) => from === name)
  const base = { name, in: 'path', required: true } as const
  const kind = need === undefined || need.right === 'insert' ? undefined : need.kind
  if (kind === undefined) return { ...base, ...segmentDoc(name) }
  if (kind === 'file') {
    return { ...base, description: 'Identifier of a file.', schema: FILE_ID, example: EXAMPLE_FILE_ID }
  }
  const aliases = within(version, APPDATA.since) ? 'root, appdata' : 'root'
  const noun = kind === 'folder' ? 'a folder' : 'a folder or file'
  return {
    ...base,
    description: `Identifier of ${noun}: ${aliases}, or hexadecimal digits.`,
    schema: folderIdSchema(version),
    example: route.rule.effect === 'read' && kind === 'folder' ? 'root' : exampleId(route),
  }
}

function segmentDoc(name: string): Pick<Parameter, 'description' | 'schema' | 'example'> {
  const known = SEGMENTS[name]
  if (known === undefined) throw new Error(`no documentation of the segment ${name}`)
  return known
}

function exampleId(route: Route): string {
  return route.path.startsWith('/files') ? EXAMPLE_FILE_ID : EXAMPLE_FOLDER_ID
}

function namedParameters(
  place: 'query' | 'header',
  docs: Readonly<Record<string, string | ParameterDoc>> | undefined,
  version: Version,
): Parameter[] {
  return Object.entries(docs ?? {}).flatMap(([name, given]) => {
    const { describe, since, until } = typeof given === 'string' ? { describe: given } : given
    if (!within(version, since ?? V1_0, until)) return []
    return [{ name, in: place, description: describe, schema: { type: 'string' } }]
  })
}

function requestBody(accepts: 'bytes' | Resource, version: Version, resources: Resources): object {
  if (accepts === 'bytes')
    return { description: 'Raw bytes of any type.', content: { 'application/octet-stream': {} } }
  const { example } = resourceDoc(resources, accepts)
  return {
    required: true,
    content: { 'application/json': { schema: schemaReference(accepts, version), example } },
  }
}

const APPDATA = scopeNamed('files.appdata')

function scopeNamed(name: ScopeName): (typeof SCOPES)[number] {
  const found = SCOPES.find((scope) => scope.name === name)
  if (found === undefined) throw new Error(`no scope ${name}`)
  return found
}

/** The scopes that the needs of the row ask for; inside its own folder an application needs only one. */
function securityOf(route: Route, version: Version): Record<string, string[]>[] {
  const needs = Object.values(route.rule.needs)
  const scopes = [...new Set<string>(needs.flatMap(scopesOf))]
  const hasAppdata = needs.every(isObjectNeed) && within(version, APPDATA.since)
  const lists = hasAppdata ? [scopes, [APPDATA.name]] : [scopes]
  const schemes = route.rule.queryToken === true ? ['bearer', 'link'] : ['bearer']
  return schemes.flatMap((scheme) => lists.map((list) => ({ [scheme]: list })))
}

function securitySchemes(): Record<string, object> {
  const scopes = SCOPES.map(
    ({ name, since, sentence }) => `${name} (since ${versionText(since)}): ${sentence}`,
  )
  return {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      description: `An access token in the header Authorization. Its scopes say what it may do:\n\n${scopes.join('\n\n')}`,
    },
    link: {
      type: 'apiKey',
      in: 'query',
      name: 'token',
      description:
        'Where a route says so, the access token may be the query parameter token: a plain link cannot set a header.',
    },
  }
}
