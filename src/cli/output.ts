import { isUtf8 } from 'node:buffer'

/** Prints a thing: one JSON value with --json, else lines for a person. */
export function print(isJson: boolean, value: unknown, lines: () => readonly string[]): void {
  const text = isJson ? JSON.stringify(value) : lines().join('\n')
  if (text !== '') process.stdout.write(`${text}\n`)
}

/**
 * A password from standard input: its first line, without the line break. Bytes that are no UTF-8 are refused: read as
 * replacement characters, they would all be one another's password.
 */
export async function readPassword(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  if (!isUtf8(bytes)) throw new Error('the password on standard input is not valid UTF-8')
  return (bytes.toString('utf8').split('\n')[0] ?? '').replace(/\r$/, '')
}
