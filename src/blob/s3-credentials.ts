import { readFile } from 'node:fs/promises'

export interface S3Credentials {
  readonly accessKey: string
  readonly secretKey: string
  readonly sessionToken: string | undefined
}

export type CredentialsSource = () => Promise<S3Credentials>

/** Keys that are changed in the file are used after this time at the latest. */
const FILE_KEPT_MS = 60_000

/** From a file in the form that Amazon's tools use, or else from the environment under the names they use. */
export function s3Credentials(file: string | undefined, environment: NodeJS.ProcessEnv): CredentialsSource {
  return file === undefined ? () => Promise.resolve(fromEnvironment(environment)) : fromFile(file)
}

function fromEnvironment(environment: NodeJS.ProcessEnv): S3Credentials {
  const found = credentials({
    aws_access_key_id: environment['AWS_ACCESS_KEY_ID'],
    aws_secret_access_key: environment['AWS_SECRET_ACCESS_KEY'],
    aws_session_token: environment['AWS_SESSION_TOKEN'],
  })
  if (found === undefined) {
    throw new Error(
      'the content store needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or --content-credentials',
    )
  }
  return found
}

function fromFile(path: string): CredentialsSource {
  let kept: { credentials: S3Credentials; untilMs: number } | undefined
  return async () => {
    if (kept !== undefined && Date.now() < kept.untilMs) return kept.credentials
    const found = credentials(defaultProfile(await readText(path)))
    if (found === undefined) {
      throw new Error(`${path} names no aws_access_key_id and aws_secret_access_key`)
    }
    kept = { credentials: found, untilMs: Date.now() + FILE_KEPT_MS }
    return found
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new Error(`the credentials of the content store cannot be read from ${path}`, { cause: error })
  }
}

/** The values before any section and those of the section `default`. */
function defaultProfile(text: string): Record<string, string | undefined> {
  const values: Record<string, string | undefined> = {}
  let section = 'default'
  for (const line of text.split('\n').map((part) => part.trim())) {
    const heading = /^\[(.+)\]$/.exec(line)
    if (heading !== null) section = (heading[1] ?? '').trim()
    const [, key = '', value = ''] = /^([a-z_]+)\s*=\s*(.*)$/.exec(line) ?? []
    if (section === 'default' && key !== '') values[key] = value
  }
  return values
}

function credentials(values: Readonly<Record<string, string | undefined>>): S3Credentials | undefined {
  const accessKey = values['aws_access_key_id'] ?? ''
  const secretKey = values['aws_secret_access_key'] ?? ''
  if (accessKey === '' || secretKey === '') return undefined
  const sessionToken = values['aws_session_token']
  return { accessKey, secretKey, sessionToken: sessionToken === '' ? undefined : sessionToken }
}
