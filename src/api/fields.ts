import type { Version } from '../model/version.js'
import { within } from '../model/version.js'

/** JSON Schema as the documentation needs it. */
export type Schema = Readonly<Record<string, unknown>>

/** One attribute of a resource: since which version it is sent, what it says, and how its JSON text is made. */
export interface Field<Facts> {
  readonly key: string
  readonly since: Version
  readonly until?: Version
  readonly schema: Schema
  readonly describe: string
  /** Undefined leaves the key out; `null` is never sent. */
  readonly json: (facts: Facts) => string | undefined
}

/** A way to write a resource in one version, put together once. */
export function compileView<Facts>(
  fields: readonly Field<Facts>[],
  version: Version,
): (facts: Facts, extra?: readonly string[]) => string {
  const parts = fields
    .filter((field) => within(version, field.since, field.until))
    .map((field) => ({ prefix: `${JSON.stringify(field.key)}:`, json: field.json }))
  return (facts, extra) => {
    let text = ''
    for (const part of parts) {
      const value = part.json(facts)
      if (value !== undefined) text += (text === '' ? '' : ',') + part.prefix + value
    }
    if (extra !== undefined) for (const member of extra) text += (text === '' ? '' : ',') + member
    return `{${text}}`
  }
}
