import { V1_0, within, type Version } from '../model/version.js'
import type { Method, Route } from './route.js'

/** The rows that one path has in one version. */
interface Found {
  readonly methods: ReadonlyMap<Method, Route>
  /** What only later versions do there: in this one it is as if there were no such path. */
  readonly later: ReadonlySet<Method>
  readonly params: Record<string, string>
}

export interface RouteTable {
  /** Looks at the segments from the given one on. */
  find(segments: readonly string[], from?: number): Found | undefined
}

interface Branch {
  readonly literals: Map<string, Branch>
  wildcard: { name: string; branch: Branch } | undefined
  readonly methods: Map<Method, Route>
  readonly later: Set<Method>
}

/** Puts the rows of a version into a tree of segments, once. A literal segment wins over one that takes any text. */
export function compileTable(routes: readonly Route[], version: Version): RouteTable {
  const root = newBranch()
  for (const route of routes) {
    if (within(version, route.since, route.until)) {
      const { methods } = branchOf(root, checkDeclared(route))
      if (methods.has(route.method)) throw new Error(`two rows for ${route.method} ${route.path}`)
      methods.set(route.method, route)
    } else if (within(version, V1_0, route.since)) branchOf(root, route).later.add(route.method)
  }
  return { find: (segments, from = 0) => walk(root, segments, from) }
}

function newBranch(): Branch {
  return { literals: new Map(), wildcard: undefined, methods: new Map(), later: new Set() }
}

function branchOf(root: Branch, route: Route): Branch {
  let branch = root
  for (const segment of route.path.slice(1).split('/')) {
    if (segment.startsWith(':')) {
      branch.wildcard ??= { name: segment.slice(1), branch: newBranch() }
      branch = branch.wildcard.branch
    } else {
      const next = branch.literals.get(segment) ?? newBranch()
      branch.literals.set(segment, next)
      branch = next
    }
  }
  return branch
}

/** The types ask for it already; a row that slipped past them must not open a door either. */
function checkDeclared(route: Route): Route {
  const { access, rule }: Partial<Route> = route
  const { needs }: Partial<Route['rule']> = rule ?? {}
  if (access === undefined || needs === undefined) {
    throw new Error(`${route.method} ${route.path} does not say who may call it`)
  }
  return route
}

function walk(branch: Branch, segments: readonly string[], index: number): Found | undefined {
  const segment = segments[index]
  if (segment === undefined)
    return branch.methods.size === 0
      ? undefined
      : { methods: branch.methods, later: branch.later, params: {} }
  const literal = branch.literals.get(segment)
  const found = literal === undefined ? undefined : walk(literal, segments, index + 1)
  if (found !== undefined || branch.wildcard === undefined) return found
  const below = walk(branch.wildcard.branch, segments, index + 1)
  if (below !== undefined) below.params[branch.wildcard.name] = segment
  return below
}
