/** Reads a page as a person does: forms by the words on their buttons, inputs by their labels, links by their words. */

export interface Control {
  readonly type: string
  readonly name: string
  /** The words of its label. */
  readonly label: string
  readonly autocomplete: string
  readonly options: readonly string[]
  /** A browser does not send the form without it. */
  readonly isRequired: boolean
  value: string
  isChecked: boolean
}

export interface Button {
  readonly words: string
  readonly name: string
  readonly value: string
  readonly action: string | undefined
}

export interface Form {
  readonly action: string
  readonly method: string
  readonly controls: readonly Control[]
  readonly buttons: readonly Button[]
  /** The words around its controls. */
  readonly words: string
}

export interface Link {
  readonly words: string
  readonly href: string
}

export interface Reading {
  readonly title: string
  readonly words: string
  readonly forms: readonly Form[]
  readonly links: readonly Link[]
  readonly tags: readonly Tag[]
}

export interface Tag {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
}

type Token = { text: string } | { tag: Tag; isEnd: boolean }

const TOKEN =
  /<!--[\s\S]*?-->|<!doctype[^>]*>|<(\/?)([a-z][\w-]*)((?:\s+[^\s=>"'/]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>"']+))?)*)\s*\/?>|([^<]+|<)/gi
const ATTRIBUTE = /([^\s=>"'/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+)))?/g
const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
}

export function decodeText(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(String(hex), 16))
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal))
    return NAMED[String(name)] ?? whole
  })
}

function tokensOf(html: string): Token[] {
  const tokens: Token[] = []
  for (const [, slash, name, attributes, text] of html.matchAll(TOKEN)) {
    if (text !== undefined) tokens.push({ text: decodeText(text) })
    else if (name !== undefined) {
      tokens.push({
        tag: { name: name.toLowerCase(), attributes: attributesOf(attributes ?? '') },
        isEnd: slash === '/',
      })
    }
  }
  return tokens
}

function attributesOf(text: string): Record<string, string> {
  const attributes: Record<string, string> = {}
  for (const [, name = '', double, single, bare] of text.matchAll(ATTRIBUTE)) {
    attributes[name.toLowerCase()] = decodeText(double ?? single ?? bare ?? '')
  }
  return attributes
}

function squeezed(parts: readonly string[]): string {
  return parts.join(' ').replace(/\s+/g, ' ').trim()
}

const SILENT = new Set(['style', 'script', 'title', 'template'])

export function readPage(html: string): Reading {
  const tokens = tokensOf(html)
  const labels = labelsOf(tokens)
  const forms: (Form & { controls: Control[]; buttons: Button[]; parts: string[]; id: string })[] = []
  const links: Link[] = []
  const words: string[] = []
  let open: (typeof forms)[number] | undefined
  let silent = ''
  tokens.forEach((token, index) => {
    if ('text' in token) {
      if (silent !== '') return
      words.push(token.text)
      open?.parts.push(token.text)
      return
    }
    const { tag, isEnd } = token
    if (SILENT.has(tag.name)) silent = isEnd ? '' : tag.name
    if (tag.name === 'form') {
      if (isEnd) open = undefined
      else {
        const parts: string[] = []
        open = {
          action: tag.attributes['action'] ?? '',
          method: (tag.attributes['method'] ?? 'get').toUpperCase(),
          id: tag.attributes['id'] ?? '',
          controls: [],
          buttons: [],
          parts,
          get words() {
            return squeezed(parts)
          },
        }
        forms.push(open)
      }
    }
    if (isEnd) return
    if (tag.name === 'a') {
      links.push({ words: textUntilEnd(tokens, index), href: tag.attributes['href'] ?? '' })
    }
    const owner = forms.find((form) => form.id !== '' && form.id === tag.attributes['form']) ?? open
    if (owner === undefined) return
    const button = buttonOf(tokens, index, tag)
    if (button !== undefined) owner.buttons.push(button)
    const control = controlOf(tokens, index, tag, labels)
    if (control !== undefined) owner.controls.push(control)
  })
  const titleAt = tokens.findIndex((token) => 'tag' in token && token.tag.name === 'title')
  return {
    title: titleAt < 0 ? '' : textUntilEnd(tokens, titleAt),
    words: squeezed(words),
    forms,
    links,
    tags: tokens.flatMap((token) => ('tag' in token && !token.isEnd ? [token.tag] : [])),
  }
}

function buttonOf(tokens: readonly Token[], index: number, tag: Tag): Button | undefined {
  const { name = '', value = '', formaction, type } = tag.attributes
  const isInput = tag.name === 'input' && type === 'submit'
  if (!isInput && !(tag.name === 'button' && (type ?? 'submit') === 'submit')) return undefined
  return { words: isInput ? value : textUntilEnd(tokens, index), name, value, action: formaction }
}

function controlOf(
  tokens: readonly Token[],
  index: number,
  tag: Tag,
  labels: { byId: ReadonlyMap<string, string>; byIndex: ReadonlyMap<number, string> },
): Control | undefined {
  const { attributes } = tag
  if (!['input', 'select', 'textarea'].includes(tag.name) || attributes['type'] === 'submit') return undefined
  const options = tag.name === 'select' ? optionsOf(tokens, index) : []
  const type = tag.name === 'input' ? (attributes['type'] ?? 'text') : tag.name
  return {
    type,
    name: attributes['name'] ?? '',
    label:
      labels.byId.get(attributes['id'] ?? '') ?? labels.byIndex.get(index) ?? attributes['aria-label'] ?? '',
    autocomplete: attributes['autocomplete'] ?? '',
    options: options.map(({ value }) => value),
    isRequired: 'required' in attributes,
    value:
      tag.name === 'textarea'
        ? textUntilEnd(tokens, index)
        : tag.name === 'select'
          ? ((options.find(({ isChosen }) => isChosen) ?? options[0])?.value ?? '')
          : (attributes['value'] ?? (type === 'checkbox' || type === 'radio' ? 'on' : '')),
    isChecked: 'checked' in attributes,
  }
}

function optionsOf(tokens: readonly Token[], start: number): { value: string; isChosen: boolean }[] {
  const options: { value: string; isChosen: boolean }[] = []
  for (let index = start + 1; index < tokens.length; index += 1) {
    const token = tokens[index]
    if (token === undefined || 'text' in token) continue
    if (token.tag.name === 'select') break
    if (token.tag.name !== 'option' || token.isEnd) continue
    const { value } = token.tag.attributes
    options.push({
      value: value ?? textUntilEnd(tokens, index),
      isChosen: 'selected' in token.tag.attributes,
    })
  }
  return options
}

function textUntilEnd(tokens: readonly Token[], start: number): string {
  const first = tokens[start]
  if (first === undefined || 'text' in first) return ''
  const parts: string[] = []
  for (const token of tokens.slice(start + 1)) {
    if ('text' in token) parts.push(token.text)
    else if (token.isEnd && token.tag.name === first.tag.name) break
  }
  return squeezed(parts)
}

/** What each label says, by the id it is for and by the place of the input it is wrapped around. */
function labelsOf(tokens: readonly Token[]): { byId: Map<string, string>; byIndex: Map<number, string> } {
  const byId = new Map<string, string>()
  const byIndex = new Map<number, string>()
  tokens.forEach((token, index) => {
    if ('text' in token || token.isEnd || token.tag.name !== 'label') return
    const words = textUntilEnd(tokens, index)
    const target = token.tag.attributes['for']
    if (target !== undefined) byId.set(target, words)
    for (let inner = index + 1; inner < tokens.length; inner += 1) {
      const part = tokens[inner]
      if (part === undefined || 'text' in part) continue
      if (part.tag.name === 'label') break
      if (['input', 'select', 'textarea'].includes(part.tag.name)) byIndex.set(inner, words)
    }
  })
  return { byId, byIndex }
}
