/** Every value that the Cookie header gives this name, in order; surrounding double quotes are removed. */
export function cookieValues(header: string | undefined, name: string): string[] {
  if (header === undefined || !header.includes(name)) return []
  const values: string[] = []
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=')
    if (equals < 0 || pair.slice(0, equals).trim() !== name) continue
    const value = pair.slice(equals + 1).trim()
    values.push(value.length > 1 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value)
  }
  return values
}
