/** Prints a thing: one JSON value with --json, else lines for a person. */
export function print(isJson: boolean, value: unknown, lines: () => readonly string[]): void {
  const text = isJson ? JSON.stringify(value) : lines().join('\n')
  if (text !== '') process.stdout.write(`${text}\n`)
}

/** A password from standard input: its first line, without the line break. */
export async function readPassword(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return (Buffer.concat(chunks).toString('utf8').split('\n')[0] ?? '').replace(/\r$/, '')
}
