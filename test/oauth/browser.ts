/** A browser without a screen: it keeps cookies, follows redirects of its own site, and posts the forms it was shown. */
import { Agent } from 'node:https'
import type { OutgoingHttpHeaders } from 'node:http'
import { client, type Answer } from '../support/client.js'
import type { TestServer } from '../support/server.js'
import { readPage, type Button, type Control, type Form, type Link, type Reading } from './page.js'

const REDIRECTS_MAX = 10
const ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

export interface Page extends Reading {
  readonly status: number
  readonly headers: Answer['headers']
  readonly answer: Answer
  /** Path and query of the answer that is shown. */
  readonly target: string
  /** Where the browser was sent away to, as the header said it; undefined while it stays on the site. */
  readonly leftTo: string | undefined
  /** Status of each answer on the way here. */
  readonly trail: readonly Answer[]
}

export interface Browser {
  readonly cookies: Map<string, string>
  /** Address from which it connects. */
  readonly address: string
  /** One request as it is, without following anything; cookies are sent and kept. */
  request(method: string, target: string, options?: RequestOptions): Promise<Answer>
  open(target: string, headers?: OutgoingHttpHeaders): Promise<Page>
  /** Presses the button with these words. */
  press(page: Page, words: RegExp, changes?: Changes, headers?: OutgoingHttpHeaders): Promise<Page>
  submit(form: Form, button: Button | undefined, page: Page, headers?: OutgoingHttpHeaders): Promise<Page>
}

export interface RequestOptions {
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string
}

export type Changes = (form: Form) => void

let addresses = 0

/** Each its own, because the server counts failures by the address they come from. */
export function freshAddress(): string {
  addresses += 1
  return `127.${1 + (process.pid % 250)}.${Math.floor(addresses / 250) % 250}.${2 + (addresses % 250)}`
}

/** Whatever speaks TLS: a server, or a load balancer in front of several. */
export type Site = Pick<TestServer, 'host' | 'port' | 'ca' | 'origin'>

export function openBrowser(server: Site, address = freshAddress()): Browser {
  const cookies = new Map<string, string>()
  const agent = new Agent({ keepAlive: true, localAddress: address, maxSockets: 16 })

  async function request(method: string, target: string, options: RequestOptions = {}): Promise<Answer> {
    const wire = client({
      host: server.host,
      port: server.port,
      ca: server.ca,
      agent,
      token: undefined,
      version: '1.3',
    })
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await wire.call(method, target, {
      absolute: true,
      headers: { Accept: ACCEPT, ...(cookie === '' ? {} : { Cookie: cookie }), ...options.headers },
      ...(options.body === undefined ? {} : { body: options.body }),
    })
    for (const line of answer.headers['set-cookie'] ?? []) keep(cookies, line)
    return answer
  }

  async function follow(first: Answer, start: string): Promise<Page> {
    const trail = [first]
    let target = start
    let answer = first
    for (let hops = 0; hops < REDIRECTS_MAX; hops += 1) {
      const location = answer.headers.location
      if (answer.status < 300 || answer.status > 399 || location === undefined) {
        return {
          ...readingOf(answer),
          status: answer.status,
          headers: answer.headers,
          answer,
          target,
          leftTo: undefined,
          trail,
        }
      }
      const local = ownTarget(server, target, location)
      if (local === undefined) {
        return {
          ...readingOf(answer),
          status: answer.status,
          headers: answer.headers,
          answer,
          target,
          leftTo: location,
          trail,
        }
      }
      target = local
      answer = await request('GET', target)
      trail.push(answer)
    }
    throw new Error(`${start} redirects without end`)
  }

  const navigation = { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' }

  const submit: Browser['submit'] = async (form, button, page, headers = {}) => {
    const fields = fieldsOf(form, button)
    const action = ownTarget(server, page.target, button?.action ?? form.action) ?? ''
    if (form.method === 'GET') return browser.open(`${action.split('?')[0]}?${fields.toString()}`)
    const answer = await request('POST', action, {
      headers: {
        'Content-Type': 'application/x-www-form-urlencoded',
        Origin: server.origin,
        'Sec-Fetch-Site': 'same-origin',
        ...navigation,
        ...headers,
      },
      body: fields.toString(),
    })
    return follow(answer, action)
  }

  const browser: Browser = {
    cookies,
    address,
    request,
    async open(target, headers = {}) {
      const answer = await request('GET', target, {
        headers: { ...navigation, 'Sec-Fetch-Site': 'none', ...headers },
      })
      return follow(answer, target)
    },
    async press(page, words, changes = () => undefined, headers = {}) {
      const form = formWith(page, words)
      changes(form)
      return submit(
        form,
        form.buttons.find((button) => words.test(button.words)),
        page,
        headers,
      )
    },
    submit,
  }
  return browser
}

/** What a browser sends when that button is pressed. */
export function fieldsOf(form: Form, button: Button | undefined): URLSearchParams {
  const fields = new URLSearchParams()
  for (const control of form.controls) {
    const isChoice = control.type === 'checkbox' || control.type === 'radio'
    if (control.name === '' || (isChoice && !control.isChecked)) continue
    fields.append(control.name, control.value.replace(/\r?\n/g, '\r\n'))
  }
  if (button !== undefined && button.name !== '') fields.append(button.name, button.value)
  return fields
}

export function formWith(page: Reading & { answer?: Answer }, words: RegExp): Form {
  const form = page.forms.find(({ buttons }) => buttons.some((button) => words.test(button.words)))
  if (form === undefined)
    throw new Error(`no form with a button ${words} on "${page.title}": ${page.words.slice(0, 400)}`)
  return form
}

/** The input whose label says so. */
export function control(form: Form, label: RegExp): Control {
  const found = form.controls.find((one) => one.type !== 'hidden' && label.test(one.label))
  if (found === undefined) {
    throw new Error(`no input ${label} among ${form.controls.map((one) => one.label).join(' | ')}`)
  }
  return found
}

/** The visible input of that type, or meant to be filled with that. */
export function inputOf(form: Form, kind: string, at = 0): Control {
  const found = form.controls.filter(
    (one) => one.type === kind || one.autocomplete.split(' ').includes(kind),
  )[at]
  if (found === undefined) {
    throw new Error(
      `no input of ${kind} among ${form.controls.map((one) => `${one.type} ${one.label}`).join(' | ')}`,
    )
  }
  return found
}

export function link(page: Reading, words: RegExp): Link {
  const found = page.links.find((one) => words.test(one.words))
  if (found === undefined)
    throw new Error(`no link ${words} among ${page.links.map((one) => one.words).join(' | ')}`)
  return found
}

function readingOf(answer: Answer): Reading {
  const isPage = (answer.headers['content-type'] ?? '').startsWith('text/html')
  return readPage(isPage ? answer.text : '')
}

/** Path and query when the address is of this site, undefined when it leads elsewhere. */
function ownTarget(server: Site, from: string, location: string): string | undefined {
  const url = new URL(location, `${server.origin}${from}`)
  return url.origin === server.origin ? `${url.pathname}${url.search}` : undefined
}

function keep(cookies: Map<string, string>, line: string): void {
  const [pair = '', ...attributes] = line.split(';')
  const name = pair.slice(0, pair.indexOf('=')).trim()
  const isGone = attributes.some((attribute) => {
    const [key = '', value = ''] = attribute.trim().split('=')
    if (key.toLowerCase() === 'max-age') return Number(value) <= 0
    return key.toLowerCase() === 'expires' && Date.parse(value) <= Date.now()
  })
  if (isGone) cookies.delete(name)
  else cookies.set(name, pair.slice(pair.indexOf('=') + 1).trim())
}
