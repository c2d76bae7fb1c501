import { X509Certificate } from 'node:crypto'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, createServer } from 'node:tls'
import type { AddressInfo } from 'node:net'
import { beforeEach, expect, it } from 'vitest'
import { ensureCertificate } from '../../src/http/tls.js'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tls-test-'))
  return () => rm(directory, { recursive: true })
})

it('makes a certificate that verifies for every name of this machine when it is trusted [HTTP-97]', async () => {
  const { cert, key } = await ensureCertificate(join(directory, 'new'), 'Files.Example.test')
  const server = createServer({ cert, key }, (socket) => socket.end())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const verifies = (name: string): Promise<boolean> =>
    new Promise((resolve) => {
      const address = /^[\d.:]+$/.test(name)
      const socket = connect({
        port,
        host: '127.0.0.1',
        ca: cert,
        ...(address ? {} : { servername: name }),
        checkServerIdentity: (_, peer) => {
          const parsed = new X509Certificate(peer.raw)
          const matches = address ? parsed.checkIP(name) : parsed.checkHost(name)
          return matches === undefined ? new Error('the name does not match') : undefined
        },
      })
      socket.once('secureConnect', () => resolve(socket.authorized))
      socket.once('error', () => resolve(false))
      socket.on('close', () => socket.destroy())
    })
  for (const name of ['localhost', '127.0.0.1', '::1', 'files.example.test'])
    expect(await verifies(name)).toBe(true)
  expect(await verifies('other.example.test')).toBe(false)
  await new Promise((resolve) => server.close(resolve))
})

it('keeps the certificate over restarts, with a key for the owner alone [HTTP-97]', async () => {
  const [first, second] = [
    await ensureCertificate(directory, 'a.test'),
    await ensureCertificate(directory, 'a.test'),
  ]
  expect(second).toEqual(first)
  expect(await readFile(join(directory, 'cert.pem'), 'utf8')).toBe(first.cert)
  expect((await stat(join(directory, 'key.pem'))).mode & 0o777).toBe(0o600)
  const days = (Date.parse(new X509Certificate(first.cert).validTo) - Date.now()) / 86_400_000
  expect(days).toBeGreaterThan(365)
  expect(days).toBeLessThanOrEqual(825)
})

it('makes a new pair when a crash left only one half [HTTP-97]', async () => {
  const first = await ensureCertificate(directory, 'a.test')
  await rm(join(directory, 'cert.pem'))
  const second = await ensureCertificate(directory, 'a.test')
  expect(second.cert).not.toBe(first.cert)
  expect(new X509Certificate(second.cert).publicKey.type).toBe('public')
})
