import { createPrivateKey, X509Certificate } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { writeDurably } from './durable-file.js'

export interface Certificate {
  readonly cert: string
  readonly key: string
}

/**
 * The certificate in this directory, made on the first start for localhost, its addresses and the host
 * name. It stays the same over restarts, so that clients may pin it, until it is about to expire.
 */
export async function ensureCertificate(directory: string, hostName: string): Promise<Certificate> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const certPath = join(directory, 'cert.pem')
  const keyPath = join(directory, 'key.pem')
  const present = await load(certPath, keyPath)
  if (present !== undefined) return present
  const made = await make(hostName)
  // The key goes first: a certificate without its key would be served to nobody.
  await writeDurably(directory, keyPath, made.key, 0o600)
  await writeDurably(directory, certPath, made.cert, 0o644)
  return made
}

/** The certificate and the key in two files, which a server can really use. */
export async function readCertificate(certPath: string, keyPath: string): Promise<Certificate> {
  const pair = { cert: await readPem(certPath, 'certificate'), key: await readPem(keyPath, 'key') }
  try {
    createSecureContext(pair)
  } catch (error) {
    throw unusable(certPath, keyPath, error)
  }
  return pair
}

function unusable(certPath: string, keyPath: string, cause: unknown): Error {
  return new Error(`${certPath} and ${keyPath} are not a certificate and its key as PEM`, { cause })
}

async function readPem(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new Error(`the ${what} ${path} cannot be read`, { cause: error })
  }
}

/** Longer-lived server certificates are refused by some clients even when they are trusted by hand. */
const LIFETIME_DAYS = 825
const RENEW_BEFORE_DAYS = 30
const DAY_MS = 86_400_000
/** Clocks of clients may be a little behind ours. */
const BACKDATED_MS = DAY_MS

async function load(certPath: string, keyPath: string): Promise<Certificate | undefined> {
  const [cert, key] = await Promise.all([readIfThere(certPath), readIfThere(keyPath)])
  if (cert === undefined || key === undefined) return undefined
  try {
    const parsed = new X509Certificate(cert)
    // A crash between the two writes leaves a certificate of another key.
    if (!parsed.checkPrivateKey(createPrivateKey(key))) return undefined
    return Date.parse(parsed.validTo) - Date.now() < RENEW_BEFORE_DAYS * DAY_MS ? undefined : { cert, key }
  } catch (error) {
    throw unusable(certPath, keyPath, error)
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** P-256 keys sign a handshake many times faster than RSA ones and every client of TLS 1.2 takes them. */
async function make(hostName: string): Promise<Certificate> {
  const names = new Set(['localhost', '127.0.0.1', '::1', hostName.toLowerCase()])
  const altNames = [...names].map((name) =>
    isIP(name) === 0 ? { type: 2 as const, value: name } : { type: 7 as const, ip: name },
  )
  const notBeforeDate = new Date(Date.now() - BACKDATED_MS)
  const { generate } = await import('./self-signed.js')
  const made = await generate([{ name: 'commonName', value: 'Starling' }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notBeforeDate,
    notAfterDate: new Date(notBeforeDate.getTime() + LIFETIME_DAYS * DAY_MS),
    extensions: [
      // Not an authority: some TLS libraries refuse an authority's certificate as that of a server.
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames },
    ],
  })
  return { cert: made.cert, key: made.private }
}
