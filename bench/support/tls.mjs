// One certificate and one cipher for every server and every client.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { run } from './processes.mjs'

export const CIPHER = 'TLS_AES_256_GCM_SHA384'

export async function makeCertificate(folder) {
  const certificate = join(folder, 'cert.pem')
  const key = join(folder, 'key.pem')
  await run('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
    ...['-keyout', key, '-out', certificate],
  ])
  // A client that has no option for TLS 1.3 ciphers takes them from the configuration of OpenSSL.
  const opensslConfig = join(folder, 'openssl.cnf')
  writeFileSync(
    opensslConfig,
    'openssl_conf = defaults\n[defaults]\nssl_conf = ssl\n[ssl]\nsystem_default = tls\n' +
      `[tls]\nMinProtocol = TLSv1.3\nCiphersuites = ${CIPHER}\n`,
  )
  return { certificate, key, opensslConfig }
}

/** What a server and a client of the benchmark agree on, as "TLSv1.3 CIPHER". */
export function negotiated(url) {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const socket = connect({
      ...{ host: hostname, port: Number(port), rejectUnauthorized: false },
      ...{ minVersion: 'TLSv1.3', ciphers: CIPHER, ALPNProtocols: ['http/1.1'] },
    })
    socket.once('secureConnect', () => {
      resolve(`${socket.getProtocol()} ${socket.getCipher().name}`)
      socket.destroy()
    })
    socket.once('error', reject)
  })
}
