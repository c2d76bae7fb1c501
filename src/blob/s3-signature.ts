/** Signs requests as S3 asks for: AWS Signature Version 4, the form with an Authorization header. */
import { createHash, createHmac } from 'node:crypto'
import type { S3Credentials } from './s3-credentials.js'

export interface Signable {
  readonly method: string
  readonly host: string
  /** Absolute, of characters that need no escape. */
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  /** SHA-256 of the body in hex: the store refuses a body that is another one. */
  readonly bodyHash: string
}

const ALGORITHM = 'AWS4-HMAC-SHA256'
const SERVICE = 's3'

/** The headers to send: those given, and what the signature needs. */
export function signedHeaders(
  request: Signable,
  { accessKey, secretKey, sessionToken }: S3Credentials,
  region: string,
  now: Date,
): Record<string, string> {
  const stamp = `${now.toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`
  const headers: Record<string, string> = {
    ...lowerCased(request.headers),
    host: request.host,
    'x-amz-content-sha256': request.bodyHash,
    'x-amz-date': stamp,
    ...(sessionToken === undefined ? {} : { 'x-amz-security-token': sessionToken }),
  }
  const names = Object.keys(headers).sort()
  const canonical = [
    request.method,
    request.path,
    canonicalQuery(request.query),
    ...names.map((name) => `${name}:${(headers[name] ?? '').trim().replace(/ +/g, ' ')}`),
    '',
    names.join(';'),
    request.bodyHash,
  ].join('\n')
  const day = stamp.slice(0, 8)
  const scope = `${day}/${region}/${SERVICE}/aws4_request`
  const text = [ALGORITHM, stamp, scope, sha256(canonical)].join('\n')
  const key = [day, region, SERVICE, 'aws4_request'].reduce<Buffer>(
    (secret, part) => hmac(secret, part),
    Buffer.from(`AWS4${secretKey}`),
  )
  const signature = hmac(key, text).toString('hex')
  const authorization = `${ALGORITHM} Credential=${accessKey}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`
  return { ...headers, authorization }
}

/** In the order and with the escapes that the signature is made over; sent the same way. */
export function canonicalQuery(query: Readonly<Record<string, string>>): string {
  return Object.entries(query)
    .map(([name, value]) => [escaped(name), escaped(value)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

export function sha256(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex')
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

function escaped(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
