/** OAuth libraries as applications use them, unchanged, through the whole flow. */
import { Agent as HttpsAgent } from 'node:https'
import * as oauth from 'oauth4webapi'
import { AuthorizationCode } from 'simple-oauth2'
import { Agent, fetch as undiciFetch } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENGINES } from '../support/engines.js'
import type { Browser } from './browser.js'
import { allow, DONE, openWorld, signIn, type App, type Person, type World } from './support.js'

describe.each(ENGINES)('a library of the field on %s', (engine) => {
  let world: World
  let app: App
  let person: Person
  let browser: Browser

  beforeAll(async () => {
    world = await openWorld(engine)
    app = await world.addApp()
    person = await world.addPerson()
    browser = world.browser()
  })
  afterAll(() => world?.stop())

  /** The person's part: opens the address, signs in when asked, ticks these scopes and allows. */
  async function visit(address: string, scopes?: readonly string[]): Promise<URL> {
    const target = address.slice(world.server.origin.length)
    let page = await browser.open(target)
    if (page.forms.some(({ controls }) => controls.some(({ type }) => type === 'password'))) {
      page = await signIn(browser, page, person)
    }
    return new URL(await allow(browser, page, scopes))
  }

  describe('oauth4webapi', () => {
    /** The library's own way to name the certificate to trust. */
    const trusting = (): { [oauth.customFetch]: (url: string, options: object) => Promise<Response> } => {
      const dispatcher = new Agent({ connect: { ca: world.server.ca } })
      return {
        [oauth.customFetch]: async (url, options) => await undiciFetch(url, { ...options, dispatcher }),
      }
    }
    const server = (): oauth.AuthorizationServer => ({
      issuer: world.server.origin,
      authorization_endpoint: `${world.server.origin}/authorize`,
      token_endpoint: `${world.server.origin}/auth/token`,
    })

    test.each([
      ['the secret in the form', (): oauth.ClientAuth => oauth.ClientSecretPost(app.secret)],
      ['the secret by Basic', (): oauth.ClientAuth => oauth.ClientSecretBasic(app.secret)],
    ])(
      'runs with PKCE, state and %s [FIELD-56] [FIELD-57] [OAUTH-54] [OAUTH-73]',
      async (_name, authentication) => {
        const client: oauth.Client = { client_id: app.id }
        const verifier = oauth.generateRandomCodeVerifier()
        const state = oauth.generateRandomState()
        const url = new URL(server().authorization_endpoint ?? '')
        url.searchParams.set('client_id', client.client_id)
        url.searchParams.set('redirect_uri', DONE)
        url.searchParams.set('response_type', 'code')
        url.searchParams.set('scope', 'files.read files.write user.read')
        url.searchParams.set('code_challenge', await oauth.calculatePKCECodeChallenge(verifier))
        url.searchParams.set('code_challenge_method', 'S256')
        url.searchParams.set('state', state)
        const back = await visit(url.href, ['files.read', 'user.read'])
        const params = oauth.validateAuthResponse(server(), client, back, state)
        const response = await oauth.authorizationCodeGrantRequest(
          server(),
          client,
          authentication(),
          params,
          DONE,
          verifier,
          trusting(),
        )
        const result = await oauth.processAuthorizationCodeResponse(server(), client, response)
        expect(result.token_type).toBe('bearer')
        expect(result.expires_in).toBe(31_536_000)
        expect(result.scope).toBe('files.read,user.read')
        const root = await oauth.protectedResourceRequest(
          result.access_token,
          'GET',
          new URL(`${world.server.origin}/api/v1.3/folders/root`),
          undefined,
          undefined,
          trusting(),
        )
        expect(root.status).toBe(200)
      },
    )

    test('runs as a public client', async () => {
      const open = await world.addApp({ isPublic: true, name: 'Public' })
      const client: oauth.Client = { client_id: open.id, token_endpoint_auth_method: 'none' }
      const verifier = oauth.generateRandomCodeVerifier()
      const url = new URL(server().authorization_endpoint ?? '')
      url.search = new URLSearchParams({
        client_id: open.id,
        redirect_uri: DONE,
        response_type: 'code',
        scope: 'files.read',
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }).toString()
      const params = oauth.validateAuthResponse(server(), client, await visit(url.href), oauth.expectNoState)
      const response = await oauth.authorizationCodeGrantRequest(
        server(),
        client,
        oauth.None(),
        params,
        DONE,
        verifier,
        trusting(),
      )
      const result = await oauth.processAuthorizationCodeResponse(server(), client, response)
      expect(await world.isAlive(result.access_token)).toBe(true)
    })

    test('understands a refusal of the person and of the server', async () => {
      const client: oauth.Client = { client_id: app.id }
      const url = new URL(server().authorization_endpoint ?? '')
      url.search = new URLSearchParams({
        client_id: app.id,
        redirect_uri: DONE,
        response_type: 'code',
        scope: 'nope',
        state: 's',
      }).toString()
      const page = await browser.open(url.href.slice(world.server.origin.length))
      const back = new URL(page.leftTo ?? '')
      expect(() => oauth.validateAuthResponse(server(), client, back, 's')).toThrow(
        oauth.AuthorizationResponseError,
      )
      url.searchParams.set('scope', 'files.read')
      const params = oauth.validateAuthResponse(server(), client, await visit(url.href), 's')
      const exchange = async (): Promise<oauth.TokenEndpointResponse> =>
        oauth.processAuthorizationCodeResponse(
          server(),
          client,
          await oauth.authorizationCodeGrantRequest(
            server(),
            client,
            oauth.ClientSecretPost('wrong'),
            params,
            DONE,
            oauth.nopkce,
            trusting(),
          ),
        )
      await expect(exchange()).rejects.toThrow(oauth.WWWAuthenticateChallengeError)
    })
  })

  describe('simple-oauth2', () => {
    test.each(['body', 'header'] as const)(
      'runs with the credentials in the %s [FIELD-58] [OAUTH-73]',
      async (authorizationMethod) => {
        const client = new AuthorizationCode({
          client: { id: app.id, secret: app.secret },
          auth: { tokenHost: world.server.origin, tokenPath: '/auth/token', authorizePath: '/authorize' },
          http: { agent: new HttpsAgent({ ca: world.server.ca }) },
          options: { authorizationMethod, scopeSeparator: ',' },
        })
        const address = client.authorizeURL({
          redirect_uri: DONE,
          scope: ['files.read', 'user.read'],
          state: 'a b&c',
        })
        const back = await visit(address, ['files.read'])
        expect(back.searchParams.get('state')).toBe('a b&c')
        const token = await client.getToken({ code: back.searchParams.get('code') ?? '', redirect_uri: DONE })
        expect(token.token['token_type']).toBe('bearer')
        expect(token.token['scope']).toBe('files.read')
        expect(token.expired()).toBe(false)
        expect(await world.isAlive(String(token.token['access_token']))).toBe(true)
        await expect(
          client.getToken({ code: back.searchParams.get('code') ?? '', redirect_uri: DONE }),
        ).rejects.toMatchObject({ data: { payload: { error: 'invalid_grant' } } })
        expect(await world.isAlive(String(token.token['access_token']))).toBe(false)
      },
    )
  })

  test('an address and a form without any percent-encoding work [FIELD-19] [OAUTH-22]', async () => {
    const loopback = await world.addApp({ redirectUris: ['http://127.0.0.1:9999/done'] })
    const address = `${world.server.origin}/authorize?response_type=code&redirect_uri=http://127.0.0.1:9999/done&scope=files.read,user.read&client_id=${loopback.id}`
    const back = await visit(address)
    expect([...back.searchParams.keys()]).toEqual(['code'])
    const answer = await world.call('POST', '/auth/token', {
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: `grant_type=authorization_code&code=${back.searchParams.get('code')}&redirect_uri=http://127.0.0.1:9999/done&client_id=${loopback.id}&client_secret=${loopback.secret}`,
    })
    expect(answer.json['scope']).toBe('files.read,user.read')
  })
})
