/** A directory of people: OpenLDAP's own server on a free loopback port, with a folder that goes away with it. */
import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { LdapSettings } from '../../src/service/directory.js'

const PROGRAMS = ['/usr/sbin/slapd', '/usr/lib/openldap/slapd', '/usr/libexec/slapd']
const MODULES = ['/usr/lib/ldap', '/usr/lib64/openldap', '/usr/lib/openldap']
const SCHEMAS = ['/etc/ldap/schema', '/etc/openldap/schema']
const START_WAIT_MAX_MS = 30_000
const BASE = 'dc=x,dc=test'
const BINDER = `cn=reader,${BASE}`
const BINDER_PASSWORD = 'the reader’s own'

/** The shell ends the server when its input ends, so also when the test run is killed. */
const KEEPER = '"$@" & server=$!; cat > /dev/null; kill -INT $server; wait $server'

export interface Entry {
  readonly mail: string | readonly string[]
  readonly password: string
  readonly givenName?: string
  readonly surname?: string
}

const areThere = PROGRAMS.some((path) => existsSync(path)) && spawnSync('ldapmodify', ['-VV']).status === 0

/** False where the directory server is missing, which is an error in continuous integration and a message elsewhere. */
export function hasDirectory(): boolean {
  if (areThere) return true
  if (process.env['CI'] === 'true')
    throw new Error('slapd or ldapmodify is missing; the tests of a directory need them')
  process.stderr.write('slapd or ldapmodify is missing: the tests of a directory of people do not run\n')
  return false
}

export interface TestDirectory {
  /** The setting `--ldap` that leads there. */
  readonly setting: string
  /** Protocol, host and port of the same with TLS; empty without a certificate. */
  readonly secureUrl: string
  readonly url: string
  /** The environment of a server that may look people up. */
  readonly env: Readonly<Record<string, string>>
  /** The same for the parts of the program that a test calls itself. */
  readonly settings: LdapSettings
  add(name: string, entry: Entry): Promise<void>
  remove(name: string): Promise<void>
  /** Nobody answers on the port until `start`. */
  halt(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

/** With a certificate it also speaks TLS, on a port of its own and by STARTTLS. */
export async function startDirectory(certificate?: {
  readonly cert: string
  readonly key: string
}): Promise<TestDirectory> {
  const program = found(PROGRAMS, 'these tests need the directory server slapd: install the package slapd')
  const folder = await mkdtemp(join(tmpdir(), 'starling-slapd-'))
  await mkdir(join(folder, 'data'))
  const config = join(folder, 'slapd.conf')
  await writeFile(config, configuration(folder, certificate))
  const port = await freePort()
  const url = `ldap://127.0.0.1:${port}`
  const secureUrl = certificate === undefined ? '' : `ldaps://127.0.0.1:${await freePort()}`
  let server: ChildProcess | undefined

  async function start(): Promise<void> {
    const log = openSync(join(folder, 'log'), 'a')
    const args = ['-c', KEEPER, 'sh', program, '-f', config, '-h', `${url} ${secureUrl}`.trim(), '-d', '0']
    server = spawn('/bin/sh', args, { cwd: folder, detached: true, stdio: ['pipe', log, log] })
    closeSync(log)
    await untilAnswered(port, join(folder, 'log'))
  }

  async function halt(): Promise<void> {
    if (server === undefined) return
    const running = server
    server = undefined
    const ended = new Promise((resolve) => running.once('exit', resolve))
    running.stdin?.end()
    await ended
  }

  async function apply(ldif: string): Promise<void> {
    const path = join(folder, 'change.ldif')
    await writeFile(path, ldif)
    const root = ['-x', '-H', url, '-D', `cn=root,${BASE}`, '-w', 'root', '-f', path]
    await promisify(execFile)('ldapmodify', ['-a', ...root])
  }

  await start()
  await apply(
    [
      lines(`dn: ${BASE}`, 'objectClass: dcObject', 'objectClass: organization', 'dc: x', 'o: x'),
      lines(`dn: ou=people,${BASE}`, 'objectClass: organizationalUnit', 'ou: people'),
      lines(
        `dn: ${BINDER}`,
        'objectClass: organizationalRole',
        'objectClass: simpleSecurityObject',
        'cn: reader',
        `userPassword:: ${base64(BINDER_PASSWORD)}`,
      ),
    ].join('\n'),
  )

  return {
    setting: `${url}?base=${encodeURIComponent(`ou=people,${BASE}`)}&bind=${encodeURIComponent(BINDER)}`,
    url,
    secureUrl,
    env: { STARLING_LDAP_PASSWORD: BINDER_PASSWORD },
    settings: {
      url,
      base: `ou=people,${BASE}`,
      bindDn: BINDER,
      bindPassword: BINDER_PASSWORD,
      filter: '(mail={email})',
      ca: undefined,
      startTls: false,
    },
    add: (name, { mail, password, givenName, surname }) =>
      apply(
        lines(
          `dn: uid=${name},ou=people,${BASE}`,
          'objectClass: extensibleObject',
          'objectClass: account',
          `uid: ${name}`,
          ...[mail].flat().map((address) => `mail:: ${base64(address)}`),
          ...(givenName === undefined ? [] : [`givenName:: ${base64(givenName)}`]),
          ...(surname === undefined ? [] : [`sn:: ${base64(surname)}`]),
          `userPassword:: ${base64(password)}`,
        ),
      ),
    remove: (name) => apply(lines(`dn: uid=${name},ou=people,${BASE}`, 'changetype: delete')),
    halt,
    start,
    async stop() {
      await halt()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Only the reader may search; an empty password binds as nobody, as many directories allow. */
function configuration(folder: string, certificate?: { cert: string; key: string }): string {
  const schemas = found(SCHEMAS, 'the schemas of slapd are missing')
  return lines(
    ...['core', 'cosine', 'inetorgperson'].map((name) => `include ${schemas}/${name}.schema`),
    `modulepath ${found(MODULES, 'the modules of slapd are missing')}`,
    'moduleload back_mdb',
    ...(certificate === undefined
      ? []
      : [`TLSCertificateFile ${certificate.cert}`, `TLSCertificateKeyFile ${certificate.key}`]),
    'allow bind_anon_cred bind_anon_dn',
    'database mdb',
    `suffix "${BASE}"`,
    `rootdn "cn=root,${BASE}"`,
    'rootpw root',
    `directory ${join(folder, 'data')}`,
    'dbnosync',
    'access to attrs=userPassword by anonymous auth by * none',
    `access to * by dn.exact="${BINDER}" read by * none`,
  )
}

function lines(...all: string[]): string {
  return `${all.join('\n')}\n`
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function found(paths: readonly string[], complaint: string): string {
  const path = paths.find((each) => existsSync(each))
  if (path === undefined) throw new Error(complaint)
  return path
}

async function untilAnswered(port: number, log: string): Promise<void> {
  const deadline = Date.now() + START_WAIT_MAX_MS
  for (;;) {
    const isUp = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('connect', () => {
        socket.destroy()
        resolve(true)
      })
      socket.once('error', () => resolve(false))
    })
    if (isUp) return
    if (Date.now() > deadline) throw new Error(`slapd did not start: ${await readFile(log, 'utf8')}`)
    await delay(25)
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
