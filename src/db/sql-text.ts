/** Just enough understanding of SQL text to split a script and to renumber placeholders without touching literals. */

/** Quoted text, quoted names and comments: the pieces in which a semicolon or a dollar sign means nothing. */
const OPAQUE = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\//

const PLACEHOLDER = new RegExp(`${OPAQUE.source}|\\$(\\d+)`, 'g')
const STATEMENT_END = new RegExp(`${OPAQUE.source}|(;)`, 'g')
const COMMENTS = /--[^\n]*|\/\*[\s\S]*?\*\//g

export interface PositionalSql {
  text: string
  /** For each `?` in turn, the index of its value among the values of the caller. */
  order: number[]
  /** How many values the caller has to give. */
  valueCount: number
  /** The placeholders stand in the order of the values, each once. */
  isInOrder: boolean
}

/** Rewrites $1..$n to `?`; a number may be used more than once and in any order. */
export function toPositional(sql: string): PositionalSql {
  const order: number[] = []
  const text = sql.replace(PLACEHOLDER, (piece: string, number: string | undefined) => {
    if (number === undefined) return piece
    order.push(Number(number) - 1)
    return '?'
  })
  const valueCount = order.reduce((most, index) => Math.max(most, index + 1), 0)
  return { text, order, valueCount, isInOrder: order.every((index, at) => index === at) }
}

/**
 * Splits a script at the semicolons outside literals and comments; pieces that hold nothing but comments are left out.
 * Statements that contain semicolons of their own, such as CREATE TRIGGER, are not supported: the engines have no
 * common form of them.
 */
export function splitStatements(script: string): string[] {
  const statements: string[] = []
  let start = 0
  for (const match of script.matchAll(STATEMENT_END)) {
    if (match[1] === undefined) continue
    statements.push(script.slice(start, match.index))
    start = match.index + 1
  }
  statements.push(script.slice(start))
  return statements
    .map((statement) => statement.trim())
    .filter((statement) => statement.replace(COMMENTS, '').trim() !== '')
}
