/** The methods of every path outside the API: what is served, what is said of it, and what another site may ask. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OauthDeps } from '../../src/oauth/deps.js'
import { pageRows, programRows } from '../../src/oauth/routes.js'
import { expectError, unchanged } from '../api/support.js'
import type { Answer } from '../support/client.js'
import { ENGINES } from '../support/engines.js'
import type { Browser } from './browser.js'
import { authorizePath, basic, openWorld, type App, type World } from './support.js'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
const EXPOSED = [
  'ETag',
  'Location',
  'Range',
  'Content-Range',
  'Content-Disposition',
  'Upload-ID',
  'Retry-After',
]

describe.each(ENGINES)('paths outside the API on %s', (engine) => {
  let world: World
  let app: App
  let browser: Browser

  beforeAll(async () => {
    world = await openWorld(engine)
    app = await world.addApp()
    browser = await world.signedIn(await world.addPerson({ admin: true }))
  })
  afterAll(() => world?.stop())

  interface Row {
    readonly target: string
    readonly methods: readonly string[]
    readonly isProgram: boolean
  }

  function rows(): Row[] {
    const values: Record<string, string> = { ':id': app.id, ':token': 'a'.repeat(64) }
    const target = (path: readonly string[]): string =>
      `/${path.map((part) => values[part] ?? part).join('/')}`
    const withHead = (names: readonly string[]): string[] =>
      names.flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]))
    return [
      ...programRows({} as OauthDeps).map(({ path, methods }) => ({
        target: target(path),
        methods: withHead(Object.keys(methods)),
        isProgram: true,
      })),
      ...pageRows({} as OauthDeps).map((row) => ({
        target: target(row.path),
        methods: withHead((['GET', 'POST'] as const).filter((method) => row[method] !== undefined)),
        isProgram: false,
      })),
    ]
  }

  function expectOpenToAll(answer: Answer, what: string): void {
    const names = answer.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase())
    expect(
      names.filter((name) => name === 'access-control-allow-origin'),
      what,
    ).toHaveLength(1)
    expect(answer.headers['access-control-allow-origin'], what).toBe('*')
    expect(answer.headers['access-control-allow-credentials'], what).toBeUndefined()
    const exposed = String(answer.headers['access-control-expose-headers']).split(/, */)
    expect(exposed, what).toEqual(expect.arrayContaining(EXPOSED))
    expect(answer.headers['content-length'], what).toBeUndefined()
  }

  const allowed = (answer: Answer): string[] => String(answer.headers['allow']).split(', ').sort()

  test('say exactly what they serve, and refuse the rest before anything else [HTTP-38] [HTTP-41] [ERR-21] [OAUTH-81]', async () => {
    expect(rows().length).toBeGreaterThanOrEqual(31)
    await unchanged(world.server, async () => {
      for (const { target, methods, isProgram } of rows()) {
        for (const suffix of ['', '/']) {
          const path = target === '/' ? '/' : `${target}${suffix}`
          const asked = await world.call('OPTIONS', path)
          expect(asked.status, path).toBe(204)
          expect(asked.text, path).toBe('')
          expect(allowed(asked), path).toEqual([...methods, 'OPTIONS'].sort())
          expect(asked.headers['access-control-allow-origin'], path).toBe('*')
        }
        for (const method of METHODS.filter((one) => !methods.includes(one))) {
          const refused = await world.call(method, target)
          const what = `${method} ${target}`
          expect(refused.status, what).toBe(405)
          expect(allowed(refused), what).toEqual([...methods, 'OPTIONS'].sort())
          expectOpenToAll(refused, what)
          if (method === 'HEAD') continue
          expectError(refused, 405, what)
          const hasPairs = isProgram || target === '/authorize'
          expect('error' in refused.json, what).toBe(hasPairs)
          expect('error_description' in refused.json, what).toBe(hasPairs)
        }
      }
    })
  })

  test('answer the pre-flight of another site, whatever it asks for [HTTP-33] [HTTP-34] [HTTP-36]', async () => {
    for (const { target } of rows()) {
      const answer = await world.call('OPTIONS', target, {
        headers: {
          Origin: 'https://app.test',
          'Access-Control-Request-Method': 'DELETE',
          'Access-Control-Request-Headers': 'authorization, x-anything',
        },
      })
      expect(answer.status, target).toBe(204)
      expect(answer.headers['access-control-allow-origin'], target).toBe('*')
      expect(answer.headers['access-control-allow-methods'], target).toBe(
        'GET,HEAD,PUT,POST,PATCH,DELETE,OPTIONS',
      )
      expect(answer.headers['access-control-allow-headers'], target).toMatch(/authorization, *x-anything/i)
      expect(answer.headers['access-control-allow-credentials'], target).toBeUndefined()
    }
  })

  test('answer HEAD as GET without a body, and a slash at the end as none [HTTP-45] [HTTP-46] [HTTP-22] [HTTP-31]', async () => {
    const token = await world.grant(browser, app)
    const query: Record<string, string> = {
      '/authorize': authorizePath(app).slice('/authorize'.length),
      '/auth/tokeninfo': `?access_token=${token}`,
    }
    const headers = basic(app.id, app.secret)
    for (const { target } of rows().filter(({ methods }) => methods.includes('GET'))) {
      const own = target === '/auth/tokeninfo' ? { headers } : {}
      const answers = await Promise.all(
        [
          ['GET', target],
          ['HEAD', target],
          ['GET', target === '/' ? target : `${target}/`],
        ].map(([method = '', path = '']) => browser.request(method, `${path}${query[target] ?? ''}`, own)),
      )
      const [got, head, slashed] = answers
      if (got === undefined || head === undefined || slashed === undefined) throw new Error(target)
      for (const answer of answers) expectOpenToAll(answer, target)
      expect([head.status, head.text], target).toEqual([got.status, ''])
      expect(slashed.status, target).toBe(got.status)
      for (const name of ['content-type', 'cache-control', 'location', 'content-security-policy']) {
        expect(head.headers[name], `${target} ${name}`).toBe(got.headers[name])
        expect(slashed.headers[name], `${target} ${name}`).toBe(got.headers[name])
      }
    }
  })
})
