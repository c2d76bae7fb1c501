/** The directory over TLS, and what becomes of it when it does not answer. The rest is tested over the API. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { gatherValues } from '../../src/cli/settings.js'
import { ldapSettings } from '../../src/cli/settings-outside.js'
import { ensureCertificate } from '../../src/http/tls.js'
import { escapeFilter, ldapDirectory, type LdapSettings } from '../../src/service/directory.js'
import { hasDirectory, startDirectory, type TestDirectory } from '../support/slapd.js'

describe.runIf(hasDirectory())('a directory with TLS', () => {
  let folder: string
  let directory: TestDirectory
  let ca: string
  const complaints: unknown[] = []

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'starling-directory-'))
    await ensureCertificate(folder, 'localhost')
    ca = await readFile(join(folder, 'cert.pem'), 'utf8')
    directory = await startDirectory({ cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') })
    await directory.add('dora', {
      mail: 'dir@x.test',
      password: 'secret word',
      givenName: 'Dora',
      surname: 'Ives',
    })
  })
  afterAll(async () => {
    await directory.stop()
    await rm(folder, { recursive: true, force: true })
  })

  function settings(change: Partial<LdapSettings>): LdapSettings {
    const made = ldapSettings(gatherValues({ ldap: directory.setting }, directory.env, undefined))
    if (made === undefined) throw new Error('no settings')
    return { ...made, ...change }
  }

  const asked = (change: Partial<LdapSettings>): ReturnType<typeof ldapDirectory> =>
    ldapDirectory(settings(change), (_, error) => complaints.push(error))

  test.each(['a port of its own', 'STARTTLS'])(
    'is asked by %s when its certificate is trusted',
    async (way) => {
      const place =
        way === 'STARTTLS'
          ? { url: directory.url, startTls: true }
          : { url: directory.secureUrl, startTls: false }
      const trusted = asked({ ...place, ca })
      expect(await trusted.find('dir@x.test')).toEqual({ firstName: 'Dora', lastName: 'Ives' })
      expect(await trusted.find('nobody@x.test')).toBeUndefined()
      expect(await trusted.verify('dir@x.test', 'secret word')).toEqual({
        firstName: 'Dora',
        lastName: 'Ives',
      })
      expect(await trusted.verify('dir@x.test', 'another')).toBeUndefined()
      await expect(asked({ ...place, ca: undefined }).find('dir@x.test')).rejects.toMatchObject({
        kind: 'unavailable',
      })
    },
  )

  test('is away when the bind of the server itself is refused', async () => {
    const wrong = asked({ bindPassword: 'wrong' })
    await expect(wrong.find('dir@x.test')).rejects.toMatchObject({ kind: 'unavailable' })
    await expect(wrong.verify('dir@x.test', 'secret word')).rejects.toMatchObject({ kind: 'unavailable' })
  })

  test('is away when it knows an address twice', async () => {
    await directory.add('twin', { mail: 'dir@x.test', password: 'other' })
    await expect(asked({}).find('dir@x.test')).rejects.toMatchObject({ kind: 'unavailable' })
    await directory.remove('twin')
    expect(await asked({}).find('dir@x.test')).toBeDefined()
  })
})

describe('a directory that takes the connection and says nothing', () => {
  let silent: Server
  const sockets = new Set<Socket>()
  beforeAll(async () => {
    silent = createServer((socket) => sockets.add(socket))
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  })
  afterAll(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => silent.close(resolve))
  })

  test('is away, and is not asked by everybody at once', async () => {
    const { port } = silent.address() as AddressInfo
    const directory = ldapDirectory(
      {
        url: `ldap://127.0.0.1:${port}`,
        base: 'dc=x',
        bindDn: undefined,
        bindPassword: undefined,
        filter: '(mail={email})',
        ca: undefined,
        startTls: false,
      },
      () => undefined,
    )
    const answers = await Promise.allSettled(Array.from({ length: 50 }, () => directory.find('a@x.test')))
    for (const answer of answers)
      expect(answer).toMatchObject({ status: 'rejected', reason: { kind: 'unavailable' } })
    expect(sockets.size).toBeLessThanOrEqual(20)
  })
})

describe('the setting of a directory', () => {
  const parse = (ldap: string, env: NodeJS.ProcessEnv = {}): LdapSettings | undefined =>
    ldapSettings(gatherValues({ ldap }, env, undefined))

  test('is an address with a base, and encrypted unless it is on loopback', () => {
    expect(parse('ldaps://d.test?base=dc%3Dx')).toMatchObject({
      url: 'ldaps://d.test',
      base: 'dc=x',
      filter: '(mail={email})',
      startTls: false,
    })
    expect(parse('ldap://d.test:3389?base=dc=x')).toMatchObject({ url: 'ldap://d.test:3389', startTls: true })
    expect(parse('ldap://127.0.0.1?base=dc=x')?.startTls).toBe(false)
    expect(parse('ldaps://d.test?base=dc=x&bind=cn=r', { STARLING_LDAP_PASSWORD: 'p' })).toMatchObject({
      bindDn: 'cn=r',
      bindPassword: 'p',
    })
  })

  test.each([
    'http://d.test?base=x',
    'ldaps://d.test',
    'ldaps://d.test?base=x&filter=(mail=*)',
    'ldaps://d.test?base=x&bind=cn=r',
    'ldaps://d.test?base=x&ca=/nonexistent',
    'nonsense',
  ])('%s is wrong usage', (text) => {
    expect(() => parse(text)).toThrow(/--ldap|password/)
  })
})

test('nothing in an address means anything in a filter', () => {
  expect(escapeFilter('a*b(c)d\\e\0@x.test')).toBe('a\\2ab\\28c\\29d\\5ce\\00@x.test')
})
