import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES } from '../support/engines.js'
import { startServer, type TestServer } from '../support/server.js'

/** How clients get the address of a revocation wrong; the token lives on, so it must not be read anywhere. */
const MISSPELT = [
  '//auth/token/',
  '/auth//token/',
  '/auth/token//',
  '/Auth/Token/',
  '/auth/revoke/',
  '/api/v1.3/auth/token/',
  '/auth%2ftoken%2f',
  '/api/v1.3/tokens/',
  '/x',
]

describe.each(ENGINES)('the log of requests (%s)', (engine) => {
  let server: TestServer

  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server?.stop())

  it('shows no token of a path, however the path is misspelt, and the identifiers of objects as they are', async () => {
    const { api, token } = await server.person()
    const folder = await api.folder('a folder')
    for (const path of MISSPELT) {
      const answer = await api.call('DELETE', `${path}${token}`, { absolute: true })
      expect(answer.status, path).toBe(404)
    }
    expect((await api.get(`/folders/${folder}`)).status).toBe(200)
    expect((await api.call('DELETE', `/auth/token/${token}`, { absolute: true })).status).toBe(200)
    await expect.poll(() => server.log(), { timeout: 60_000 }).toContain('"/auth/token/[masked]"')
    expect(server.log()).toContain(`/folders/${folder}"`)
    expect(server.log().match(/\[masked\]/g)?.length).toBe(MISSPELT.length + 1)
    expect(server.log()).not.toContain(token)
  })
})
