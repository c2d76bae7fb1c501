/** Every value that the Cookie header gives this name, in order; quotes are part of the value. */
export function cookieValues(header: string | undefined, name: string): string[] {
  if (header === undefined || !header.includes(name)) return []
  const values: string[] = []
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=')
    if (equals < 0 || pair.slice(0, equals).trim() !== name) continue
    values.push(pair.slice(equals + 1).trim())
  }
  return values
}
