/** What a refused sign-in costs the server, counted and not timed: the same for every kind of account, and for none. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandDeps } from '../../src/cli/installation.js'
import type { Failure } from '../../src/model/failures.js'
import type { ServiceDeps } from '../../src/service/deps.js'
import { ldapDirectory } from '../../src/service/directory.js'
import { guesses } from '../../src/service/guesses.js'
import { pooledHasher, threadHasher, type Hasher } from '../../src/service/hasher.js'
import { passwordQueue } from '../../src/service/password-queue.js'
import { signIns } from '../../src/service/passwords-signin.js'
import { secondFactor } from '../../src/service/second-factor.js'
import { sessions } from '../../src/service/sessions.js'
import { signIn, type SignIn } from '../../src/service/sign-in.js'
import { turns } from '../../src/service/turns.js'
import { openWorld, PASSWORD, type World } from '../oauth/support.js'
import { ENGINES } from '../support/engines.js'
import { hasDirectory, startDirectory, type TestDirectory } from '../support/slapd.js'

const HOUR_MS = 60 * 60 * 1000
const THEIRS = 'the directory’s own password'

/** Argon2 with a tally: the parameters of each hash that was worked on. */
function countingHasher(): Hasher & { take(): string[] } {
  const real = pooledHasher()
  let worked: string[] = []
  return {
    hash: (password) => real.hash(password),
    verify(hash, password) {
      worked.push(hash.split('$').slice(1, 4).join(' '))
      return real.verify(hash, password)
    },
    take() {
      const taken = worked
      worked = []
      return taken
    },
  }
}

/** Stands before the directory and counts who comes. */
async function countingDoor(url: string): Promise<{ url: string; take(): number; close(): void }> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let count = 0
  const server: Server = createServer((client) => {
    count += 1
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => sockets.delete(socket))
    }
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
    client.pipe(upstream).pipe(client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `ldap://127.0.0.1:${(server.address() as AddressInfo).port}`,
    take() {
      const taken = count
      count = 0
      return taken
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

describe.each(ENGINES)('a refused sign-in on %s', (engine) => {
  let world: World
  const hasher = countingHasher()

  beforeAll(async () => {
    world = await openWorld(engine)
  })
  afterAll(() => world.stop())

  /** The service as the pages have it, but for the tally and, if given, a directory. */
  function service(parts: Partial<ServiceDeps> = {}): SignIn {
    const { db } = world.server.installation
    const hashing = passwordQueue(hasher)
    const deps = { ...commandDeps(world.server.installation, () => undefined), hashing, ...parts }
    const { now } = deps
    const lives = { idleMs: HOUR_MS, sessionMs: HOUR_MS, halfMs: HOUR_MS }
    return signIn({
      now,
      db,
      sessions: sessions({ now }, lives),
      guesses: guesses(db, now, { failuresMax: 1_000, windowMs: HOUR_MS }),
      passwords: hashing,
      secondFactor: secondFactor({ now }),
      verifyPassword: signIns(deps, db).verifyPassword,
    })
  }

  const attempt = (signing: SignIn, email: string, password: string): ReturnType<SignIn['withPassword']> =>
    signing.withPassword({
      email,
      password,
      origin: '192.0.2.1',
      agent: '',
      isRemembered: false,
      browser: undefined,
    })

  async function localAddresses(): Promise<Record<string, string>> {
    const disabled = await world.addPerson()
    const own = world.server.client(await world.server.addToken(disabled.email, 'user.password'))
    expect((await own.delete('/users/me/password')).status).toBe(200)
    return {
      'a wrong password': (await world.addPerson()).email,
      'a wrong password of somebody with a second factor': (await world.addPerson({ secondFactor: true }))
        .email,
      'an account without a password': (await world.addPerson({ password: null })).email,
      'a disabled password': disabled.email,
      'an unknown address': 'nobody@x.test',
      'an address that nobody can have': 'not an address',
      'no address': '',
    }
  }

  test('costs one hash with the same parameters, whatever is wrong [OAUTH-28]', async () => {
    const signing = service()
    const work: Record<string, string[]> = {}
    for (const [what, email] of Object.entries(await localAddresses())) {
      for (const password of ['wrong password', '']) {
        expect(await attempt(signing, email, password), what).toBeUndefined()
        work[`${what}, ${password}`] = hasher.take()
      }
    }
    const person = await world.addPerson()
    expect(await attempt(signing, person.email, PASSWORD)).toMatchObject({ stage: 'full' })
    const right = hasher.take()
    expect(right).toHaveLength(1)
    for (const [what, hashes] of Object.entries(work)) expect(hashes, what).toEqual(right)
  })

  describe.runIf(hasDirectory())('where a directory knows some people', () => {
    let directory: TestDirectory
    let door: Awaited<ReturnType<typeof countingDoor>>

    beforeAll(async () => {
      directory = await startDirectory()
      door = await countingDoor(directory.url)
    })
    afterAll(async () => {
      door?.close()
      await directory?.stop()
    })

    const withDirectory = (signUpPolicy: ServiceDeps['signUpPolicy']): SignIn =>
      service({
        signUpPolicy,
        directory: ldapDirectory({ ...directory.settings, url: door.url }, () => undefined),
      })

    async function addresses(): Promise<Record<string, string>> {
      const stamp = `${engine}-${String(Date.now())}`
      const external = `external-${stamp}@x.test`
      const stranger = `stranger-${stamp}@x.test`
      const both = (await world.addPerson()).email
      for (const [name, mail] of Object.entries({ external, stranger, both }))
        await directory.add(`${name}-${stamp}`, { mail, password: THEIRS })
      await world.addPerson({ email: external, password: null })
      await world.sql('UPDATE users SET is_external = 1 WHERE email = $1', external)
      return {
        ...(await localAddresses()),
        'an account of the directory': external,
        'an entry of the directory without an account': stranger,
        'a local account that the directory knows as well': both,
      }
    }

    test.each(['invited', 'open'] as const)(
      'costs one hash and the same questions, where sign-up is %s [OAUTH-28] [OAUTH-31]',
      async (policy) => {
        const signing = withDirectory(policy)
        const all = Object.entries(await addresses())
        for (const password of ['wrong password', '']) {
          const work: Record<string, unknown> = {}
          for (const [what, email] of all) {
            expect(await attempt(signing, email, password), what).toBeUndefined()
            work[what] = [hasher.take().length, door.take()]
          }
          for (const [what, counts] of Object.entries(work)) expect(counts, what).toEqual([1, 2])
        }
      },
    )

    test('tries no local password at the directory, and none at all for a local account [LDAP-08]', async () => {
      const email = (await world.addPerson()).email
      await directory.add(`shadow-${engine}-${String(Date.now())}`, { mail: email, password: THEIRS })
      const signing = withDirectory('open')
      expect(await attempt(signing, email, THEIRS)).toBeUndefined()
      door.take()
      expect(await attempt(signing, email, PASSWORD)).toMatchObject({ stage: 'full' })
      expect(door.take()).toBe(0)
    })

    test('is as ever when the directory is away, but for those whom it signs in [LDAP-07]', async () => {
      const all = await addresses()
      const signing = withDirectory('invited')
      const local = await world.addPerson()
      await directory.halt()
      try {
        for (const [what, email] of Object.entries(all)) {
          hasher.take()
          const result = attempt(signing, email, 'wrong password')
          if (what === 'an account of the directory') {
            await expect(result, what).rejects.toMatchObject({
              kind: 'unavailable',
            } satisfies Partial<Failure>)
          } else expect(await result, what).toBeUndefined()
          expect(hasher.take(), what).toHaveLength(1)
        }
        expect(await attempt(signing, local.email, PASSWORD)).toMatchObject({ stage: 'full' })
      } finally {
        await directory.start()
      }
    })
  })
})

describe.each([
  ['on a thread of its own', threadHasher],
  ['on the threads of the process', pooledHasher],
] as const)('hashing %s', (_, make) => {
  test('makes argon2id hashes that only their password fits, several at once', async () => {
    const hasher = make()
    const words = ['one password', 'another password', 'söme ünicode 🐦']
    const hashes = await Promise.all(words.map((word) => hasher.hash(word)))
    for (const [index, hash] of hashes.entries()) {
      expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
      const fits = await Promise.all(words.map((word) => hasher.verify(hash, word)))
      expect(fits).toEqual(words.map((_word, at) => at === index))
    }
    for (const nonsense of ['', 'no hash', '$argon2id$v=19$m=1'])
      expect(await hasher.verify(nonsense, 'one password')).toBe(false)
  })
})

describe('work about the same thing', () => {
  test('runs one after the other, and what does not fit into the line is refused', async () => {
    const inTurn = turns(1)
    const begun: string[] = []
    const ends: (() => void)[] = []
    const work = (name: string) => (): Promise<string> => {
      begun.push(name)
      return new Promise((resolve) => ends.push(() => resolve(name)))
    }
    const settled = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve))
    const first = inTurn('a', work('a1'))
    const second = inTurn('a', work('a2'))
    await expect(inTurn('a', work('a3'))).rejects.toMatchObject({ kind: 'unavailable' })
    const other = inTurn('b', work('b1'))
    await settled()
    expect(begun).toEqual(['a1', 'b1'])
    for (const end of ends) end()
    expect(await first).toBe('a1')
    expect(await other).toBe('b1')
    await settled()
    expect(begun).toEqual(['a1', 'b1', 'a2'])
    for (const end of ends) end()
    expect(await second).toBe('a2')
    await expect(inTurn('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
    expect(await inTurn('a', () => Promise.resolve(1))).toBe(1)
  })
})
