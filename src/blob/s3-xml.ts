/** The little of XML that S3 stores answer with: elements without attributes that matter, one below the other. */

/** The text of the first element of that name. */
export function valueOf(xml: string, name: string): string | undefined {
  const text = elementsOf(xml, name)[0]
  return text === undefined ? undefined : unescaped(text)
}

/** What is inside each element of that name, as it stands. */
export function elementsOf(xml: string, name: string): string[] {
  const pattern = new RegExp(`<${name}(?:\\s[^>]*)?>([\\s\\S]*?)</${name}>`, 'g')
  return [...xml.matchAll(pattern)].map((match) => match[1] ?? '')
}

export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function unescaped(text: string): string {
  return text.replace(/&(?:#x([0-9a-fA-F]{1,6})|#(\d{1,7})|([a-z]+));/g, (whole, hex, decimal, name) => {
    if (name !== undefined) return NAMED[String(name)] ?? whole
    const code = hex === undefined ? Number(decimal) : parseInt(String(hex), 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}
