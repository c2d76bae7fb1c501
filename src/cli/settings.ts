import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { parse as parseToml } from 'smol-toml'
import { parseS3Address, type S3Address } from '../blob/s3-address.js'
import { DEFAULT_HTTP_LIMITS, type HttpLimits } from '../http/limits.js'
import type { SignUpPolicy } from '../service/deps.js'
import type { LdapSettings } from '../service/directory.js'
import { MIGRATE_SETTINGS } from './migrate-settings.js'
import { ldapSettings, mailSettings, trustedProxies, type MailSettings } from './settings-outside.js'
import { SIGN_IN_SETTINGS, signInSettings, type SignInSettings } from './sign-in-settings.js'
import { UsageError } from './usage-error.js'

export { UsageError } from './usage-error.js'

type Kind = 'text' | 'number' | 'switch'

/** One setting: a flag, an environment variable and a key of the config file under one name. */
export interface Setting {
  readonly name: string
  readonly kind: Kind
  /** As the documentation shows it. */
  readonly fallback: string
  readonly help: string
  /** Not offered as a flag, since a command line can be read by every user of the machine. */
  readonly secret?: boolean
}

const COMMON: readonly Setting[] = [
  { name: 'data', kind: 'text', fallback: './data', help: 'the data folder' },
  {
    name: 'database',
    kind: 'text',
    fallback: 'SQLite in the data folder',
    help: 'postgres://… for PostgreSQL, or sqlite',
  },
  {
    name: 'content',
    kind: 'text',
    fallback: 'files in the data folder',
    help: 's3://bucket?endpoint=… for an S3 store, or disk',
  },
  {
    name: 'content-credentials',
    kind: 'text',
    fallback: 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the environment',
    help: 'file with the keys of the S3 store',
  },
  {
    name: 'replica',
    kind: 'text',
    fallback: 'none: content is read through',
    help: "folder of the node's own copy of an S3 store's content",
  },
  { name: 'password-min', kind: 'number', fallback: '8', help: 'characters that a password must have' },
  {
    name: 'ldap',
    kind: 'text',
    fallback: 'off',
    help: 'directory of people: ldaps://host?base=…&bind=…&filter=…',
  },
  {
    name: 'ldap-password',
    kind: 'text',
    fallback: 'none',
    help: 'password of the bind; not a flag',
    secret: true,
  },
  { name: 'ldap-password-file', kind: 'text', fallback: 'none', help: 'file that holds it' },
]

const SERVE: readonly Setting[] = [
  { name: 'host', kind: 'text', fallback: '127.0.0.1', help: 'address to listen on' },
  { name: 'port', kind: 'number', fallback: '8443', help: 'port to listen on; 0 takes a free one' },
  {
    name: 'base-url',
    kind: 'text',
    fallback: "from the request's Host",
    help: 'address of the service as clients know it',
  },
  {
    name: 'tls-cert',
    kind: 'text',
    fallback: 'DATA/tls/cert.pem, made on first start',
    help: 'certificate file (PEM)',
  },
  {
    name: 'tls-key',
    kind: 'text',
    fallback: 'DATA/tls/key.pem, made on first start',
    help: 'key file (PEM)',
  },
  {
    name: 'behind-proxy',
    kind: 'switch',
    fallback: 'off',
    help: 'plain HTTP on loopback, TLS ended by a proxy',
  },
  {
    name: 'trusted-proxies',
    kind: 'text',
    fallback: 'none',
    help: 'addresses or networks whose X-Forwarded-For is believed',
  },
  { name: 'workers', kind: 'number', fallback: 'number of cores', help: 'processes that share the port' },
  {
    name: 'capacity',
    kind: 'number',
    fallback: 'the disk, with a reserve',
    help: 'bytes of content this node may hold',
  },
  {
    name: 'max-uploads',
    kind: 'number',
    fallback: '100',
    help: 'bodies being received at once on this node',
  },
  {
    name: 'upload-lifetime',
    kind: 'number',
    fallback: '86400',
    help: 'seconds since the last use of an Upload-ID',
  },
  { name: 'legacy-versions', kind: 'switch', fallback: 'off', help: 'also serve the versions 1.1 and 1.2' },
  { name: 'signup', kind: 'text', fallback: 'invited', help: 'who may sign up: open, invited or admin' },
  { name: 'quota', kind: 'number', fallback: 'none', help: 'bytes per user, unless set for the user' },
  {
    name: 'smtp',
    kind: 'text',
    fallback: 'mails are written to DATA/outbox',
    help: 'smtp://user:password@host:port',
  },
  { name: 'mail-from', kind: 'text', fallback: 'none', help: 'sender of mails' },
  {
    name: 'mail-retry',
    kind: 'number',
    fallback: '60',
    help: 'seconds until a failed mail is tried again; doubles each time',
  },
  {
    name: 'listing-cache-bytes',
    kind: 'number',
    fallback: '16777216',
    help: 'memory of a process for lists of children',
  },
  { name: 'log-level', kind: 'text', fallback: 'info', help: 'trace, debug, info, warn, error or silent' },
]

const LIMIT_HELP: Readonly<Record<keyof HttpLimits, string>> = {
  headerBytes: 'header lines of a request together',
  headersMs: 'time for a handshake and for each request head',
  bodyIdleMs: 'silence in a request body before the connection is cut',
  bodyWindowMs: 'window in which a request body must grow',
  bodyWindowBytes: 'bytes by which it must grow in that window',
  drainIdleMs: 'time for which the client of a download may take nothing',
  keepAliveMs: 'silence between two requests of a connection',
  jsonBytes: 'largest JSON or form body',
  largeFormsBytes: 'what forms beyond 64 KiB take together, in a process',
  largeFramesBytes: 'what large buffers of downloads take together, in a process',
  slowPieceMs: 'time for a piece of a download after which its reader gets smaller ones',
  jsonDepth: 'deepest nesting of a JSON body',
  jsonKeys: 'members of all objects of a JSON body together',
  connections: 'open connections of a process',
  refusedConnections: 'connections beyond that which still get a 503',
  pipelinedRequests: 'requests sent ahead on one connection',
  requestsPerConnection: 'requests on one connection',
  refusedDrainMs: 'how long an unwanted body is read',
  refusedDrainBytes: 'how much of an unwanted body is read',
  drainMs: 'time for which a stopping server still takes requests',
  stopMs: 'time for requests under way when the server stops',
}

const LIMITS: readonly Setting[] = limitKeys().map((key) => ({
  name: flagName(key),
  kind: 'number',
  fallback: String(DEFAULT_HTTP_LIMITS[key]),
  help: LIMIT_HELP[key],
}))

export const COMMON_SETTINGS = COMMON
export const SERVE_SETTINGS: readonly Setting[] = [...SERVE, ...SIGN_IN_SETTINGS, ...LIMITS]

function limitKeys(): (keyof HttpLimits)[] {
  return Object.keys(DEFAULT_HTTP_LIMITS) as (keyof HttpLimits)[]
}

/** headersMs → headers-ms */
function flagName(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

export interface CommonSettings {
  readonly dataDir: string
  readonly database: string | undefined
  /** Where an S3 store is; without one content is files in the data folder. */
  readonly content: S3Address | undefined
  readonly contentCredentials: string | undefined
  /** The folder of the node's own copy of what is in the S3 store. */
  readonly replica: string | undefined
  readonly passwordLengthMin: number
  readonly ldap: LdapSettings | undefined
}

export interface ServeSettings extends CommonSettings {
  readonly host: string
  readonly port: number
  readonly baseUrl: string | undefined
  readonly tls: { readonly cert: string; readonly key: string } | undefined
  readonly behindProxy: boolean
  readonly trustedProxies: readonly string[]
  readonly workers: number
  readonly capacityBytes: number | undefined
  readonly uploadsMax: number
  readonly uploadLifetimeMs: number
  readonly legacyVersions: boolean
  readonly quotaBytes: number | null
  readonly signUpPolicy: SignUpPolicy
  readonly mail: MailSettings
  readonly listingCacheBytes: number
  readonly logLevel: string
  readonly limits: HttpLimits
  readonly signIn: SignInSettings
}

/** Values by name: flags first, then the environment, then the config file. */
export interface Values {
  text(name: string): string | undefined
  number(name: string, bounds?: { min?: number; max?: number }): number | undefined
  isOn(name: string): boolean
}

export function gatherValues(
  flags: Readonly<Record<string, unknown>>,
  environment: NodeJS.ProcessEnv,
  configFile: string | undefined,
): Values {
  const file = configFile === undefined ? {} : readConfig(configFile)

  function raw(name: string): unknown {
    const flag = flags[camel(name)]
    if (flag !== undefined) return flag
    return environment[`STARLING_${name.toUpperCase().replaceAll('-', '_')}`] ?? file[name]
  }

  return {
    text(name) {
      const value = raw(name)
      if (value === undefined) return undefined
      if (typeof value !== 'string' || value === '') throw new UsageError(`--${name} must be a text`)
      return value
    },
    number(name, { min = 0, max = Number.MAX_SAFE_INTEGER } = {}) {
      const value = raw(name)
      if (value === undefined) return undefined
      const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
      if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < min || number > max) {
        const atLeast = min > 0 ? ` of at least ${min}` : ''
        const bounds = max === Number.MAX_SAFE_INTEGER ? atLeast : ` from ${min} to ${max}`
        throw new UsageError(`--${name} must be a whole number${bounds}`)
      }
      return number
    },
    isOn(name) {
      const value = raw(name)
      if (value === undefined || value === false || value === 'false' || value === '0' || value === 'off')
        return false
      if (value === true || value === 'true' || value === '1' || value === 'on') return true
      throw new UsageError(`--${name} must be on or off`)
    },
  }
}

function camel(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function readConfig(path: string): Record<string, unknown> {
  let content: Record<string, unknown>
  try {
    content = parseToml(readFileSync(path, 'utf8'))
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    throw new UsageError(`the config file ${path} cannot be read: ${reason}`)
  }
  const names = new Set(
    [...COMMON_SETTINGS, ...SERVE_SETTINGS, ...MIGRATE_SETTINGS].map((setting) => setting.name),
  )
  for (const key of Object.keys(content)) {
    if (!names.has(key)) throw new UsageError(`the config file ${path} has the unknown setting ${key}`)
  }
  return content
}

export function commonSettings(values: Values): CommonSettings {
  const content = contentAddress(values.text('content'))
  const replica = values.text('replica')
  if (replica !== undefined && content === undefined) {
    throw new UsageError('--replica is a copy of what is in an S3 store: it needs --content s3://…')
  }
  return {
    dataDir: values.text('data') ?? './data',
    database: databaseAddress(values.text('database')),
    content,
    contentCredentials: values.text('content-credentials'),
    replica,
    passwordLengthMin: values.number('password-min', { min: 1 }) ?? 8,
    ldap: ldapSettings(values),
  }
}

const SIGNUP = ['open', 'invited', 'admin'] as const satisfies readonly SignUpPolicy[]

function databaseAddress(text: string | undefined): string | undefined {
  if (text === undefined || text === 'sqlite') return undefined
  // The address may hold a password, so it is never repeated in the message.
  if (!/^postgres(ql)?:\/\//.test(text)) throw new UsageError('--database must begin with postgres://')
  return text
}

function contentAddress(text: string | undefined): S3Address | undefined {
  if (text === undefined || text === 'disk') return undefined
  try {
    return parseS3Address(text)
  } catch (error) {
    throw new UsageError(`--content: ${error instanceof Error ? error.message : String(error)}`)
  }
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent']
const PORT_MAX = 65_535
const WORKERS_MAX = 256
const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost'])

export function serveSettings(values: Values): ServeSettings {
  const behindProxy = values.isOn('behind-proxy')
  const host = (values.text('host') ?? '127.0.0.1').replace(/^\[(.*)\]$/, '$1')
  if (behindProxy && !LOOPBACK.has(host))
    throw new UsageError('--behind-proxy listens on loopback only: --host must be a loopback address')
  return {
    ...commonSettings(values),
    host,
    port: values.number('port', { max: PORT_MAX }) ?? 8443,
    baseUrl: baseUrl(values.text('base-url')),
    tls: tlsFiles(values),
    behindProxy,
    trustedProxies: trustedProxies(values),
    workers: values.number('workers', { min: 1, max: WORKERS_MAX }) ?? availableParallelism(),
    capacityBytes: values.number('capacity'),
    uploadsMax: values.number('max-uploads', { min: 1 }) ?? 100,
    uploadLifetimeMs: (values.number('upload-lifetime', { min: 1 }) ?? 86_400) * 1000,
    legacyVersions: values.isOn('legacy-versions'),
    quotaBytes: values.number('quota') ?? null,
    signUpPolicy: choice(values, 'signup', SIGNUP) ?? 'invited',
    mail: mailSettings(values),
    listingCacheBytes: values.number('listing-cache-bytes') ?? 16 * 1024 * 1024,
    logLevel: choice(values, 'log-level', LOG_LEVELS) ?? 'info',
    limits: limits(values),
    signIn: signInSettings(values),
  }
}

function limits(values: Values): HttpLimits {
  const entries = limitKeys().map((key) => [
    key,
    values.number(flagName(key), { min: Math.min(1, DEFAULT_HTTP_LIMITS[key]) }) ?? DEFAULT_HTTP_LIMITS[key],
  ])
  return Object.fromEntries(entries) as HttpLimits
}

function choice<Choice extends string>(
  values: Values,
  name: string,
  allowed: readonly Choice[],
): Choice | undefined {
  const value = values.text(name)
  const chosen = allowed.find((one) => one === value)
  if (value !== undefined && chosen === undefined)
    throw new UsageError(`--${name} must be one of ${allowed.join(', ')}`)
  return chosen
}

function tlsFiles(values: Values): { cert: string; key: string } | undefined {
  const cert = values.text('tls-cert')
  const key = values.text('tls-key')
  if (cert === undefined && key === undefined) return undefined
  if (cert === undefined || key === undefined) throw new UsageError('--tls-cert and --tls-key go together')
  return { cert, key }
}

function baseUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'https:') throw new UsageError('--base-url must be an https address')
  // Paths are put behind it, so it must end in a path.
  if (url.username !== '' || url.password !== '' || /[?#\\\s]/.test(text))
    throw new UsageError('--base-url must be an address without user, query and fragment')
  return text.replace(/\/+$/, '')
}
