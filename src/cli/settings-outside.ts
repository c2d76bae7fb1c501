/** The settings of what lies outside the installation: the directory of people, the server that takes mails, proxies. */
import { readFileSync } from 'node:fs'
import { believes } from '../http/proxies.js'
import type { LdapSettings } from '../service/directory.js'
import type { Values } from './settings.js'
import { UsageError } from './usage-error.js'

export interface MailSettings {
  /** Absent: mails are written to files. */
  readonly smtp: string | undefined
  readonly from: string
  readonly retryMs: number
}

const DEFAULT_FILTER = '(mail={email})'
const DEFAULT_SENDER = 'starling@localhost'
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

export function mailSettings(values: Values): MailSettings {
  const smtp = values.text('smtp')
  const from = values.text('mail-from')
  const isAddress = smtp !== undefined && URL.canParse(smtp) && /^smtps?:$/.test(new URL(smtp).protocol)
  if (smtp !== undefined && !isAddress) throw new UsageError('--smtp must be smtp://… or smtps://…')
  if (smtp !== undefined && from === undefined) throw new UsageError('--smtp needs --mail-from')
  if (from !== undefined && (!from.includes('@') || /[\r\n]/.test(from))) {
    throw new UsageError('--mail-from must be an e-mail address')
  }
  return {
    smtp,
    from: from ?? DEFAULT_SENDER,
    retryMs: (values.number('mail-retry', { min: 1 }) ?? 60) * 1000,
  }
}

/** A list with commas; what is no address and no network is told at once. */
export function trustedProxies(values: Values): readonly string[] {
  const text = values.text('trusted-proxies')
  if (text === undefined) return []
  const networks = text.split(',').map((network) => network.trim())
  try {
    believes(networks)
  } catch (error) {
    throw new UsageError(`--trusted-proxies: ${error instanceof Error ? error.message : String(error)}`)
  }
  return networks
}

/** `ldaps://host?base=…&bind=…&filter=…&ca=…`; the password of the bind never stands on a command line. */
export function ldapSettings(values: Values): LdapSettings | undefined {
  const text = values.text('ldap')
  if (text === undefined) return undefined
  if (!URL.canParse(text)) throw notAnAddress()
  const url = new URL(text)
  if (!/^ldaps?:$/.test(url.protocol) || url.hostname === '') throw notAnAddress()
  const query = new URLSearchParams(url.search)
  const base = query.get('base') ?? ''
  if (base === '') throw new UsageError('--ldap needs base=…, where the people are')
  const filter = query.get('filter') ?? DEFAULT_FILTER
  if (!filter.includes('{email}')) throw new UsageError('--ldap: the filter must hold {email}')
  const bindDn = query.get('bind') ?? undefined
  const bindPassword = bindDn === undefined ? undefined : ldapPassword(values)
  const ca = query.get('ca')
  return {
    url: `${url.protocol}//${url.host}`,
    base,
    filter,
    bindDn,
    bindPassword,
    ca: ca === null ? undefined : readText(ca, '--ldap: the certificate'),
    startTls: url.protocol === 'ldap:' && !LOOPBACK.has(url.hostname),
  }
}

function ldapPassword(values: Values): string {
  const file = values.text('ldap-password-file')
  const password =
    file === undefined ? values.text('ldap-password') : readText(file, 'the file of the password').trim()
  if (password === undefined || password === '') {
    throw new UsageError('--ldap with bind=… needs STARLING_LDAP_PASSWORD or --ldap-password-file')
  }
  return password
}

function readText(path: string, what: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw new UsageError(`${what} ${path} cannot be read`)
  }
}

function notAnAddress(): UsageError {
  return new UsageError('--ldap must be ldaps://host?base=…&bind=…&filter=…')
}
