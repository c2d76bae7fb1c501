import { NotSignedIn, type SessionGate } from '../gate/sessions.js'
import { ConnectionLost } from '../http/body.js'
import type { Exchange } from '../http/exchange.js'
import { FAILURES, INTERNAL_MESSAGE, replyFailure } from '../http/failures.js'
import { html } from '../http/html.js'
import { replyBytes, replyEmpty } from '../http/reply.js'
import { splitPath } from '../http/segments.js'
import { Failure, type FailureKind } from '../model/failures.js'
import { Untrusted } from './authorize-request.js'
import type { OauthDeps } from './deps.js'
import { replyPage, replyRedirect, STYLE_PATH } from './page.js'
import { PageFailure, told } from './refusals.js'
import {
  checkOrigin,
  giveSession,
  headerText,
  NO_FORM,
  queryOf,
  readPostedForm,
  safeTarget,
  whereabouts,
  type PageRequest,
} from './requests.js'
import { pageRows, programRows, type PageRow, type ProgramRow } from './routes.js'
import { STYLE } from './style.js'
import { TEXTS } from './texts.js'

type Params = Readonly<Record<string, string>>

const DAY_CACHE = { 'Cache-Control': 'public, max-age=86400', 'X-Content-Type-Options': 'nosniff' }

/** Serves the sign-in pages and the OAuth endpoints. The handler is false for a path that is not its own. */
export function oauthDoor(deps: OauthDeps): (exchange: Exchange) => Promise<boolean> {
  const programs = programRows(deps)
  const pages = pageRows(deps)

  async function serveProgram(exchange: Exchange, row: ProgramRow, params: Params): Promise<void> {
    try {
      if (!checkMethod(exchange, Object.keys(row.methods))) return
      const method = exchange.method === 'HEAD' ? 'GET' : exchange.method
      await row.methods[method as keyof typeof row.methods]?.(exchange, params)
    } catch (error) {
      const failure = failureOf(error)
      if (exchange.res.headersSent || failure === undefined) throw error
      replyFailure(exchange, failure, { pairs: 'oauth', ...oauthError(error) })
    }
  }

  async function servePage(exchange: Exchange, row: PageRow, params: Params): Promise<void> {
    try {
      const methods = [...(row.GET === undefined ? [] : ['GET']), ...(row.POST === undefined ? [] : ['POST'])]
      if (!checkMethod(exchange, methods)) return
      await answerPage(exchange, row, params, deps.gate)
    } catch (error) {
      if (exchange.res.headersSent) throw error
      const failure = failureOf(error)
      if (failure === undefined) throw error
      if (failure instanceof NotSignedIn && !asksForJson(exchange)) {
        return sendToSignIn(exchange, failure.stage)
      }
      replyPageFailure(exchange, row, failure)
    }
  }

  async function answerPage(
    exchange: Exchange,
    row: PageRow,
    params: Params,
    gate: SessionGate,
  ): Promise<void> {
    const isPost = exchange.method === 'POST'
    // Before anything is said about the session, which a form of another site arrives without.
    if (isPost) checkOrigin(exchange, deps.baseUrl(exchange))
    const visit = await gate.visit(exchange)
    if (row.access !== 'anyone' && visit.stage !== 'full') throw new NotSignedIn(visit.stage)
    if (!isPost && visit.stage === 'full' && visit.isOutdated) return renewSession(exchange)
    if (row.access === 'admin' && visit.stage === 'full' && !visit.person.isAdmin) {
      throw new PageFailure('forbidden', TEXTS.errors.adminsOnly)
    }
    const form = isPost ? await readPostedForm(exchange, visit) : NO_FORM
    const request: PageRequest = { exchange, visit, query: queryOf(exchange), form, params }
    await (isPost ? row.POST : row.GET)?.(request)
  }

  /** Those who became admins, or are so no more, go on under another secret than the one from before. */
  async function renewSession(exchange: Exchange): Promise<void> {
    const { agent } = whereabouts(exchange)
    const opened = await deps.gate.writing(exchange, (tx, person) => deps.sessions.renew(tx, person, agent))
    giveSession(exchange, opened, deps.now())
    const query = exchange.rawQuery === '' ? '' : `?${exchange.rawQuery}`
    replyRedirect(exchange, safeTarget(headerText(`${exchange.path}${query}`)))
  }

  /** What is thrown and no refusal is a bug; here it is told in the words that the caller of the route reads. */
  function failureOf(error: unknown): Failure | undefined {
    if (error instanceof ConnectionLost) return undefined
    if (error instanceof Failure) return error
    deps.complain('a request for a page failed unexpectedly', error)
    return new Failure('internal', INTERNAL_MESSAGE)
  }

  return async (exchange) => {
    if (exchange.path === STYLE_PATH) {
      if (!checkMethod(exchange, ['GET'])) return true
      replyBytes(exchange, 200, 'text/css; charset=utf-8', STYLE, DAY_CACHE)
      return true
    }
    const segments = splitPath(exchange.path)
    for (const row of programs) {
      const params = match(row.path, segments)
      if (params === undefined) continue
      await serveProgram(exchange, row, params)
      return true
    }
    for (const row of pages) {
      const params = match(row.path, segments)
      if (params === undefined) continue
      await servePage(exchange, row, params)
      return true
    }
    return false
  }
}

/** False: the request was a question for the methods and is answered. */
function checkMethod(exchange: Exchange, methods: readonly string[]): boolean {
  const names = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  if (names.includes(exchange.method)) return true
  const headers = { Allow: [...names, 'OPTIONS'].join(', ') }
  if (exchange.method === 'OPTIONS') {
    replyEmpty(exchange, 204, headers)
    return false
  }
  throw new Failure('methodNotAllowed', `the method ${exchange.method} is not served here`, headers)
}

function match(pattern: readonly string[], segments: readonly string[]): Params | undefined {
  if (pattern.length !== segments.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index] ?? ''
    if (part.startsWith(':')) params[part.slice(1)] = segment
    else if (part !== segment) return undefined
  }
  return params
}

function oauthError(error: unknown): { error?: string } {
  return error instanceof Failure && 'oauthError' in error && typeof error.oauthError === 'string'
    ? { error: error.oauthError }
    : {}
}

/** A browser that shows a page says so; what says nothing of the kind is a program. */
function asksForPage(exchange: Exchange): boolean {
  return acceptOf(exchange).includes('text/html')
}

function asksForJson(exchange: Exchange): boolean {
  return acceptOf(exchange).includes('application/json') && !asksForPage(exchange)
}

function acceptOf(exchange: Exchange): string {
  return (exchange.req.headers.accept ?? '').toLowerCase()
}

/** Back to the page that was asked for, once signed in; a form that was lost on the way is shown anew. */
function sendToSignIn(exchange: Exchange, stage: 'none' | 'half'): void {
  const page = stage === 'half' ? '/sign-in/second-factor' : '/sign-in'
  const isGet = exchange.method === 'GET' || exchange.method === 'HEAD'
  const wish = isGet && exchange.path !== '/' ? exchange.path : '/account'
  replyRedirect(exchange, `${page}?next=${encodeURIComponent(wish)}`)
}

const TITLES: Partial<Record<FailureKind, string>> = TEXTS.errors

function replyPageFailure(exchange: Exchange, row: PageRow, failure: Failure): void {
  const isAuthorize = row.path[0] === 'authorize'
  const isForPerson =
    isAuthorize && failure.kind === 'badArgs' ? !asksForJson(exchange) : asksForPage(exchange)
  if (!isForPerson) {
    const pairs = isAuthorize ? { pairs: 'oauth' as const } : {}
    // A browser would ask for a name and a password of its own accord.
    const challenge = failure.kind === 'unauthorized' ? { 'WWW-Authenticate': 'Bearer realm="Starling"' } : {}
    const answer = new Failure(failure.kind, failure.message, {
      ...failure.headers,
      ...challenge,
      'Cache-Control': 'no-store',
    })
    return replyFailure(exchange, answer, pairs)
  }
  const { 'Retry-After': seconds } = failure.headers
  replyPage(exchange, {
    title: TITLES[failure.kind] ?? TEXTS.errors.other,
    status: FAILURES[failure.kind][0],
    headers: failure.headers,
    body: html`<p>${told(failure)}</p>
      ${failure instanceof Untrusted ? html`<p>${TEXTS.errors.appToBlame}</p>` : ''}
      ${seconds === undefined ? '' : html`<p>${TEXTS.errors.wait(Number(seconds))}</p>`}
      <p class="links"><a href="/account">${TEXTS.errors.home}</a></p>`,
  })
}
