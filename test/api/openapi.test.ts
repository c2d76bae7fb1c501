import { describe, expect, test } from 'vitest'
import { openApi } from '../../src/api/openapi.js'
import { ROUTES } from '../../src/api/routes.js'
import { FILE_FIELDS, FOLDER_FIELDS } from '../../src/api/views.js'
import { V1_0, V1_1, V1_2, V1_3, V1_4, versionText, within } from '../../src/model/version.js'
import { expectOpenApi, member, operations, type Json } from './openapi-check.js'

const ALL = [V1_0, V1_1, V1_2, V1_3, V1_4]
const document = openApi({ versions: ALL, baseUrl: 'https://files.example.org' })

function addressIn(version: (typeof ALL)[number], path: string): string {
  return `/api/v${versionText(version)}${path.replaceAll(/:(\w+)/g, '{$1}')}`
}

function operationOf(name: string): Json {
  const found = operations(document).get(name)
  if (found === undefined) throw new Error(`no operation ${name}`)
  return found
}

function statusesOf(name: string): string[] {
  return Object.keys(member(operationOf(name), 'responses'))
}

function properties(resource: string, version: (typeof ALL)[number]): string[] {
  const name = `${resource}_${version.major}_${version.minor}`
  return Object.keys(member(document, 'components', 'schemas', name, 'properties')).sort()
}

describe('the OpenAPI document', () => {
  test('has the structure of OpenAPI 3.1 and every reference resolves', () => {
    expectOpenApi(document)
    expectOpenApi(openApi({ versions: [V1_3], baseUrl: 'https://files.example.org' }))
  })

  test('is plain JSON', () => {
    expect(JSON.parse(JSON.stringify(document))).toEqual(document)
  })

  test('has every row in every version that serves it, and nothing else', () => {
    const expected = ALL.flatMap((version) =>
      ROUTES.filter((route) => within(version, route.since, route.until)).map(
        (route) => `${route.method} ${addressIn(version, route.path)}`,
      ),
    )
    expect([...operations(document).keys()].sort()).toEqual(expected.sort())
  })

  test('leaves out versions that are not served', () => {
    const text = JSON.stringify(openApi({ versions: [V1_0, V1_3], baseUrl: 'https://files.example.org' }))
    expect(text).not.toMatch(/v1\.[124]|_1_[124]/)
  })

  test('has each field in the schema of each version that sends it, and only there', () => {
    for (const version of ALL) {
      const isSent = (field: (typeof FOLDER_FIELDS)[number] | (typeof FILE_FIELDS)[number]): boolean =>
        within(version, field.since, field.until)
      const onDemand = within(version, V1_2)
      const folder = FOLDER_FIELDS.filter(isSent).map(({ key }) => key)
      const file = FILE_FIELDS.filter(isSent).map(({ key }) => key)
      expect(properties('Folder', version)).toEqual(
        [...folder, ...(onDemand ? ['children', 'path'] : [])].sort(),
      )
      expect(properties('File', version)).toEqual([...file, ...(onDemand ? ['path'] : [])].sort())
    }
  })

  test('requires no field that an object without content or share lacks', () => {
    expect(member(document, 'components', 'schemas', 'File_1_3')['required']).toEqual([
      'id',
      'name',
      'parent',
      'mime_type',
      'content_state',
    ])
    expect(member(document, 'components', 'schemas', 'Folder_1_3')['required']).not.toContain('sid')
  })

  test('has every status that a row declares in some version, and in each version none that the row does not', () => {
    for (const route of ROUTES) {
      const declared = [...Object.keys(route.doc.success), ...route.doc.failures.map(String)].sort()
      const served = ALL.filter((version) => within(version, route.since, route.until))
      const names = served.map((version) => `${route.method} ${addressIn(version, route.path)}`)
      const shown = new Set(names.flatMap(statusesOf))
      shown.delete('default')
      expect([...shown].sort(), route.path).toEqual(declared)
    }
  })

  test('has the error object on every refusal except 416', () => {
    for (const [name, operation] of operations(document)) {
      const version = /v(\d+)\.(\d+)/.exec(name)
      for (const [status, response] of Object.entries(member(operation, 'responses'))) {
        if (/^[23]/.test(status)) continue
        if (status === '416') expect(member(response)['content'], name).toBeUndefined()
        else {
          const schema = member(response, 'content', 'application/json', 'schema')
          expect(schema['$ref'], name).toBe(`#/components/schemas/Error_${version?.[1]}_${version?.[2]}`)
        }
      }
    }
  })

  test('says which statuses an upload has in which version', () => {
    const upload = (version: string): string[] => statusesOf(`PUT /api/v${version}/files/{id}/content`)
    for (const version of ['1.0', '1.1', '1.2']) {
      expect(upload(version)).toEqual(expect.arrayContaining(['200', '500']))
      expect(upload(version)).not.toContain('204')
      expect(upload(version)).not.toContain('507')
    }
    for (const version of ['1.3', '1.4']) {
      expect(upload(version)).toEqual(expect.arrayContaining(['200', '204', '404', '507']))
      expect(upload(version)).not.toContain('500')
    }
    const missing = (version: string): unknown =>
      member(operationOf(`PUT /api/v${version}/files/{id}/content`), 'responses', '404')['description']
    expect(missing('1.3')).toContain('DESELECTED')
    expect(missing('1.0')).not.toContain('DESELECTED')
  })

  test('knows no word for a full store before 1.3', () => {
    const types = (name: string): unknown =>
      member(document, 'components', 'schemas', name, 'properties', 'type')['enum']
    expect(types('Error_1_2')).not.toContain('INSUFFICIENT_STORAGE')
    expect(types('Error_1_3')).toContain('INSUFFICIENT_STORAGE')
  })

  test('names the scopes that the needs of a row ask for, and appdata since 1.3', () => {
    const security = (name: string): unknown => operationOf(name)['security']
    expect(security('GET /api/v1.0/folders/{id}')).toEqual([{ bearer: ['files.read'] }])
    expect(security('PUT /api/v1.3/folders/{id}')).toEqual([
      { bearer: ['files.write'] },
      { bearer: ['files.appdata'] },
    ])
    expect(security('GET /api/v1.0/files/{id}/content')).toEqual([
      { bearer: ['files.read'] },
      { link: ['files.read'] },
    ])
  })

  test('offers the fields parameter since 1.2', () => {
    const names = (version: string): unknown[] =>
      (operationOf(`GET /api/v${version}/folders/{id}`)['parameters'] as Json[]).map(({ name }) => name)
    expect(names('1.1')).not.toContain('fields')
    expect(names('1.2')).toContain('fields')
  })

  test('lists the headers of answers', () => {
    const headers = (name: string, status: string): string[] =>
      Object.keys(member(operationOf(name), 'responses', status, 'headers'))
    expect(headers('POST /api/v1.3/folders', '201')).toEqual(['ETag', 'Location'])
    expect(headers('GET /api/v1.3/files/{id}/content', '206')).toContain('Content-Range')
    expect(headers('PUT /api/v1.3/files/{id}/content', '204')).toEqual(['ETag', 'Upload-ID', 'Range'])
    expect(headers('PUT /api/v1.3/files/{id}/content', '200')).toEqual(['Upload-ID', 'Range'])
    expect(headers('PUT /api/v1.0/files/{id}/content', '200')).toContain('ETag')
    expect(headers('PUT /api/v1.3/folders/{id}', '412')).toEqual(['ETag'])
  })

  test('gives examples that have only the fields of their schema', () => {
    for (const [name, operation] of operations(document)) {
      for (const response of Object.values(member(operation, 'responses'))) {
        const json = (member(response)['content'] as Json | undefined)?.['application/json']
        if (json === undefined) continue
        const schema = String(member(json, 'schema')['$ref']).split('/').at(-1) ?? ''
        const described = member(document, 'components', 'schemas', schema)
        const example = member(json)['example']
        // A list is described by its elements, whose schema other answers carry on their own.
        if (Array.isArray(example)) {
          expect(described['type'], name).toBe('array')
          continue
        }
        const { required = [], properties: known } = described
        const keys = Object.keys(member(json, 'example'))
        expect(Object.keys(member(known)), name).toEqual(expect.arrayContaining(keys))
        expect(keys, name).toEqual(expect.arrayContaining(required as string[]))
      }
    }
  })

  test('quotes the address of a curl line for the shell', () => {
    const odd = openApi({ versions: [V1_3], baseUrl: "https://a'b" })
    const samples = operations(odd).get('GET /api/v1.3/folders/{id}')?.['x-codeSamples'] as {
      source: string
    }[]
    expect(samples[0]?.source).toBe(
      `curl 'https://a'\\''b/api/v1.3/folders/root' \\\n  -H "Authorization: Bearer $TOKEN"`,
    )
  })
})
