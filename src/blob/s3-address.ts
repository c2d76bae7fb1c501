/** Where an S3 store is: `s3://bucket/prefix?endpoint=https://…&region=…&path-style=on`. */
export interface S3Address {
  readonly bucket: string
  /** Comes before every key; empty or ending in a slash. */
  readonly prefix: string
  /** Scheme, host and port without anything behind them. */
  readonly origin: string
  readonly region: string
  /** The bucket stands in the path and not in the name of the host. */
  readonly isPathStyle: boolean
}

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
/** What needs no escape in any part of an address. */
const PREFIX = /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)*$/
const PREFIX_LENGTH_MAX = 512
const REGION = /^[A-Za-z0-9-]{1,64}$/
const PARAMETERS = ['endpoint', 'region', 'path-style']
const DEFAULT_REGION = 'us-east-1'

/** Throws an error that says what is wrong with the text. */
export function parseS3Address(text: string): S3Address {
  const match = /^s3:\/\/([^/?#]+)(\/[^?#]*)?(\?[^#]*)?$/.exec(text)
  if (match === null) throw new Error('it must look like s3://bucket?endpoint=…&region=…')
  const [, bucket = '', path = '', search = ''] = match
  if (!BUCKET.test(bucket)) throw new Error(`${bucket} is no name of a bucket`)
  const parameters = new URLSearchParams(search)
  for (const name of parameters.keys()) {
    if (!PARAMETERS.includes(name)) throw new Error(`it has the unknown parameter ${name}`)
  }
  const region = parameters.get('region') ?? DEFAULT_REGION
  if (!REGION.test(region)) throw new Error(`${region} is no region`)
  const endpoint = parameters.get('endpoint') ?? undefined
  return {
    bucket,
    prefix: prefixOf(path),
    origin: endpoint === undefined ? `https://s3.${region}.amazonaws.com` : originOf(endpoint),
    region,
    isPathStyle: isPathStyle(parameters.get('path-style'), endpoint !== undefined || bucket.includes('.')),
  }
}

function prefixOf(path: string): string {
  const bare = path.replace(/^\/+|\/+$/g, '')
  const prefix = bare === '' ? '' : `${bare}/`
  if (!PREFIX.test(prefix) || prefix.length > PREFIX_LENGTH_MAX) {
    throw new Error('what stands behind the bucket may have letters, digits, dots, dashes and slashes only')
  }
  return prefix
}

function originOf(endpoint: string): string {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  const isBare = url?.pathname === '/' && url.search === '' && url.hash === '' && url.username === ''
  if (url === undefined || !isBare || !['https:', 'http:'].includes(url.protocol)) {
    throw new Error('the endpoint must be an http or https address without a path')
  }
  return url.origin
}

/** A store of one's own seldom has a name for each bucket; Amazon's has, but no certificate for one with dots. */
function isPathStyle(wish: string | null, fallback: boolean): boolean {
  if (wish === null) return fallback
  if (wish === 'on' || wish === 'true' || wish === '1') return true
  if (wish === 'off' || wish === 'false' || wish === '0') return false
  throw new Error('path-style must be on or off')
}
