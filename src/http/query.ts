import { Failure } from '../model/failures.js'

/** Query parameters, decoded when asked for, so that a broken parameter nobody reads harms nobody. */
export interface Query {
  /** Every value of the parameter in order; throws badArgs when one cannot be decoded. */
  all(name: string): string[]
  /** The first value, or undefined when the parameter is absent. */
  one(name: string): string | undefined
}

/** Parses a query; a plus is a plus, since clients send addresses unencoded. */
export function parseQuery(raw: string): Query {
  return raw === '' ? EMPTY : lazyQuery(raw, decodeURIComponent)
}

/** Parses an application/x-www-form-urlencoded body, where a plus is a blank. */
export function parseForm(raw: string): Query {
  return raw === '' ? EMPTY : lazyQuery(raw, (text) => decodeURIComponent(text.replaceAll('+', ' ')))
}

const EMPTY: Query = { all: () => [], one: () => undefined }

type Decode = (text: string) => string

function lazyQuery(raw: string, decode: Decode): Query {
  let pairs: Map<string, string[]> | undefined
  const values = (name: string): string[] => (pairs ??= rawPairs(raw, decode)).get(name) ?? []
  const decodeValue = (name: string, value: string): string => {
    try {
      return decode(value)
    } catch {
      throw new Failure('badArgs', `the parameter ${name} is not valid percent-encoded UTF-8`)
    }
  }
  return {
    all: (name) => values(name).map((value) => decodeValue(name, value)),
    one: (name) => {
      const first = values(name)[0]
      return first === undefined ? undefined : decodeValue(name, first)
    },
  }
}

/** Raw values by decoded name; a name that cannot be decoded is an unknown parameter and is left out. */
function rawPairs(raw: string, decode: Decode): Map<string, string[]> {
  const pairs = new Map<string, string[]>()
  for (const pair of raw.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const rawName = equals < 0 ? pair : pair.slice(0, equals)
    const value = equals < 0 ? '' : pair.slice(equals + 1)
    let name: string
    try {
      name = decode(rawName)
    } catch {
      continue
    }
    const known = pairs.get(name)
    if (known === undefined) pairs.set(name, [value])
    else known.push(value)
  }
  return pairs
}
