import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openWorld, type World } from '../oauth/support.js'
import { ENGINES } from '../support/engines.js'
import { ask, requestText } from '../support/wire.js'

const MAIL_WAIT_MAX_MS = 60_000

describe.each(ENGINES)('a link to set a password (%s)', (engine) => {
  let world: World
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'starling-tls-'))
    const tls = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
    const made = await generate([{ name: 'commonName', value: 'files.example.test' }], {
      keyType: 'ec',
      curve: 'P-256',
      algorithm: 'sha256',
      extensions: [
        {
          name: 'subjectAltName',
          altNames: [
            { type: 2, value: 'localhost' },
            { type: 2, value: 'files.example.test' },
            { type: 2, value: '*.people.example.test' },
            { type: 7, ip: '127.0.0.1' },
          ],
        },
      ],
    })
    await writeFile(tls.cert, made.cert)
    await writeFile(tls.key, made.private)
    world = await openWorld(engine, { tls })
  })
  afterAll(async () => {
    await world?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  /** The mail that somebody gets for whom a stranger asks, with a Host of the stranger's choice. */
  async function mailAfter(host: string): Promise<string> {
    const { email } = await world.addPerson()
    const browser = world.browser()
    const page = await browser.open('/forgot')
    const token = page.forms[0]?.controls.find(({ name }) => name === 'form_token')?.value ?? ''
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const body = new URLSearchParams({ form_token: token, email }).toString()
    const text = requestText(
      'POST /forgot',
      [
        `Cookie: ${cookie}`,
        'Content-Type: application/x-www-form-urlencoded',
        `Content-Length: ${body.length}`,
      ],
      body,
    )
    const answer = await ask(world.server, text.replace('Host: localhost', `Host: ${host}`))
    expect(answer.status, answer.text).toBe(200)
    const outbox = join(world.server.dataDir, 'outbox')
    let found: string | undefined
    await expect
      .poll(
        async () => {
          const names = (await readdir(outbox).catch(() => [])).filter((name) => name.endsWith('.eml'))
          const mails = await Promise.all(names.map((name) => readFile(join(outbox, name), 'utf8')))
          found = mails.find((mail) => mail.includes(email))
          return found
        },
        { timeout: MAIL_WAIT_MAX_MS },
      )
      .toBeDefined()
    return (found ?? '').replaceAll(/=\r?\n/g, '').replaceAll('=3D', '=')
  }

  it('leads to a name in the certificate, at the usual port or our own', async () => {
    const { port } = world.server
    for (const host of [
      'files.example.test',
      'FILES.example.test:443',
      `localhost:${port}`,
      `127.0.0.1:${port}`,
    ]) {
      expect(await mailAfter(host), host).toContain(`https://${host}/reset?code=`)
    }
  })

  it('leads neither to a name that only a wildcard covers nor to another port, where somebody else may listen', async () => {
    for (const host of [
      'mallory.people.example.test',
      'files.example.test:4444',
      'localhost:1',
      '127.0.0.1:65535',
      'evil.test',
      'files.example.test.evil.test',
      'files.example.test%2eevil.test',
    ]) {
      const mail = await mailAfter(host)
      expect(mail, host).not.toContain('https://')
      expect(mail, host).toMatch(/[0-9a-f]{64}/)
    }
  })
})
