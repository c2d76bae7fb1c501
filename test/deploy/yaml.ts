/** Reads YAML with the parser that formats it here, so that no other one has to be installed. */
import { parsers } from 'prettier/plugins/yaml'

export type Yaml = string | null | Yaml[] | { [key: string]: Yaml }

interface Node {
  readonly type: string
  readonly value?: string
  readonly anchor?: { readonly value: string } | null
  readonly children?: readonly (Node | null)[]
}

/** All documents of a text. Scalars that are not quoted stay texts: `8443`, `true`. */
export function readYaml(text: string): Yaml[] {
  const root = parsers.yaml.parse(text, {} as never) as Node
  return childrenOf(root)
    .map((document) => childrenOf(document).find(({ type }) => type === 'documentBody'))
    .map((body) => valueOf(body === undefined ? undefined : childrenOf(body)[0], new Map()))
    .filter((value) => value !== null)
}

function childrenOf(node: Node): Node[] {
  return (node.children ?? []).filter((child) => child !== null)
}

function valueOf(node: Node | undefined, anchors: Map<string, Yaml>): Yaml {
  if (node === undefined || node.type === 'null') return null
  const value = plainValueOf(node, anchors)
  if (node.anchor !== undefined && node.anchor !== null) anchors.set(node.anchor.value, value)
  return value
}

function plainValueOf(node: Node, anchors: Map<string, Yaml>): Yaml {
  switch (node.type) {
    case 'mapping':
    case 'flowMapping':
      return mappingOf(node, anchors)
    case 'sequence':
    case 'flowSequence':
      return childrenOf(node).map((item) => valueOf(childrenOf(item)[0], anchors))
    case 'alias':
      return anchors.get(node.value ?? '') ?? null
    default:
      if (node.value === undefined) throw new Error(`no value in a ${node.type}`)
      return node.value
  }
}

function mappingOf(node: Node, anchors: Map<string, Yaml>): Yaml {
  const result: Record<string, Yaml> = {}
  for (const item of childrenOf(node)) {
    const [key, value] = (item.children ?? []).map((part) =>
      part === null ? null : valueOf(childrenOf(part)[0], anchors),
    )
    if (typeof key !== 'string') throw new Error('a key must be a text')
    if (key === '<<') Object.assign(result, value)
    else result[key] = value ?? null
  }
  return result
}
