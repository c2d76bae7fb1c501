/** A server whose texts are all in another language: each stands between two marks that no text of ours has. */

const OPEN = '⟦'
const CLOSE = '⟧'

/** Runs in the server before anything else: puts the marks into the part of the program that holds the texts. */
const HOOKS = `
const PART = '// src/oauth/texts.ts\\n'

export async function load(url, context, next) {
  const loaded = await next(url, context)
  const program = loaded.format === 'module' ? String(loaded.source) : ''
  const from = program.indexOf(PART)
  if (from < 0) return loaded
  const to = program.indexOf('\\n// src/', from + PART.length)
  const plain = program.slice(from, to)
    .replace('var TEXTS =', 'var PLAIN_TEXTS =')
    .replace('var REFUSALS =', 'var PLAIN_REFUSALS =')
  const marks = \`
    var mark = (text) => '${OPEN}' + text + '${CLOSE}'
    var marked = (value) => {
      if (typeof value === 'string') return mark(value)
      if (typeof value === 'function') return (...given) => mark(value(...given))
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, marked(one)]))
    }
    var TEXTS = { ...marked(PLAIN_TEXTS), language: PLAIN_TEXTS.language, product: PLAIN_TEXTS.product }
    var REFUSALS = PLAIN_REFUSALS.map(([pattern, words]) => [pattern, marked(words)])
  \`
  return { ...loaded, source: program.slice(0, from) + plain + marks + program.slice(to) }
}
`

function asModule(source: string): string {
  return `data:text/javascript;base64,${Buffer.from(source).toString('base64')}`
}

/** For the environment of the server. */
export function translated(): NodeJS.ProcessEnv {
  const start = `import { register } from 'node:module'; register(${JSON.stringify(asModule(HOOKS))})`
  return { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import=${asModule(start)}` }
}

/** What is left of a text when all that was translated is taken out of it. */
export function untranslated(text: string): string {
  let depth = 0
  let rest = ''
  for (const character of text) {
    if (character === OPEN) depth += 1
    else if (character === CLOSE) depth -= 1
    else if (depth === 0) rest += character
  }
  return rest.replace(/\s+/g, ' ').trim()
}
