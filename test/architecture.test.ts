/** The shape of the house as a test: what a folder holds, what it may import, and the habits that a machine can see. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'

const SOURCE = fileURLToPath(new URL('../src', import.meta.url))
const LINES_MAX = 400

/** What each folder may import besides itself; `main.ts` is a folder of its own. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  model: [],
  http: ['model'],
  db: ['model'],
  blob: ['model'],
  gate: ['model', 'http', 'db'],
  service: ['model', 'db', 'blob', 'gate'],
  api: ['model', 'http', 'gate', 'service'],
  oauth: ['model', 'http', 'gate', 'service'],
  nodes: ['model', 'http', 'db', 'blob', 'gate', 'service'],
  console: ['model', 'http', 'gate', 'service'],
  client: ['model'],
  cli: ['model', 'http', 'db', 'blob', 'gate', 'service', 'api', 'oauth', 'nodes', 'console'],
  'main.ts': ['model', 'http', 'db', 'blob', 'gate', 'service', 'api', 'oauth', 'nodes', 'console', 'cli'],
}

interface Source {
  /** Relative to src, with slashes. */
  readonly path: string
  readonly folder: string
  readonly text: string
  readonly tree: ts.SourceFile
  readonly imports: readonly { readonly path: string; readonly isTypeOnly: boolean }[]
}

const SOURCES: readonly Source[] = readdirSync(SOURCE, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => readSource(join(entry.parentPath, entry.name)))

function readSource(file: string): Source {
  const path = relative(SOURCE, file).split(sep).join('/')
  const text = readFileSync(file, 'utf8')
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const imports: Source['imports'][number][] = []
  const note = (specifier: ts.Node | undefined, isTypeOnly: boolean): void => {
    if (specifier === undefined || !ts.isStringLiteralLike(specifier) || !specifier.text.startsWith('.'))
      return
    const target = resolve(dirname(file), specifier.text.replace(/\.js$/, '.ts'))
    imports.push({ path: relative(SOURCE, target).split(sep).join('/'), isTypeOnly })
  }
  walk(tree, (node) => {
    if (ts.isImportDeclaration(node)) note(node.moduleSpecifier, node.importClause?.isTypeOnly ?? false)
    else if (ts.isExportDeclaration(node)) note(node.moduleSpecifier, node.isTypeOnly)
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      note(node.arguments[0], false)
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
      note(node.argument.literal, true)
  })
  return { path, folder: path.split('/')[0] ?? '', text, tree, imports }
}

function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node)
  ts.forEachChild(node, (child) => walk(child, visit))
}

function lineOf(source: Source, node: ts.Node): string {
  return `${source.path}:${source.tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
}

/** Every place in the sources that the question is true of. */
function places(question: (node: ts.Node) => boolean): string[] {
  return SOURCES.flatMap((source) => {
    const found: string[] = []
    walk(source.tree, (node) => {
      if (question(node)) found.push(lineOf(source, node))
    })
    return found
  })
}

describe('the sources', () => {
  test('lie in the folders that the architecture names', () => {
    expect(SOURCES.length).toBeGreaterThan(100)
    expect(
      [...new Set(SOURCES.map(({ folder }) => folder))].filter((folder) => !(folder in MAY_IMPORT)),
    ).toEqual([])
  })

  test('import what exists', () => {
    const known = new Set(SOURCES.map(({ path }) => path))
    const missing = SOURCES.flatMap(({ path, imports }) =>
      imports.filter((target) => !known.has(target.path)).map((target) => `${path} imports ${target.path}`),
    )
    expect(missing).toEqual([])
  })

  test('import to the left only, types included, and the doors never one another', () => {
    const wrong = SOURCES.flatMap(({ path, folder, imports }) =>
      imports
        .filter((target) => {
          const to = target.path.split('/')[0] ?? ''
          return to !== folder && !(MAY_IMPORT[folder] ?? []).includes(to)
        })
        .map((target) => `${path} imports ${target.path}`),
    )
    expect(wrong).toEqual([])
  })

  test('take from the gate into the verbs nothing but the types of grants and callers', () => {
    const allowed = ['gate/grants.ts', 'gate/caller.ts', 'gate/person.ts']
    const wrong = SOURCES.filter(({ folder }) => folder === 'service').flatMap(({ path, imports }) =>
      imports
        .filter(
          (target) =>
            target.path.startsWith('gate/') && !(allowed.includes(target.path) && target.isTypeOnly),
        )
        .map((target) => `${path} imports ${target.path}`),
    )
    expect(wrong).toEqual([])
  })

  test('have no circle of imports', () => {
    const byPath = new Map(SOURCES.map((source) => [source.path, source]))
    const done = new Set<string>()
    const circles: string[] = []
    const follow = (path: string, trail: readonly string[]): void => {
      if (trail.includes(path))
        return void circles.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
      if (done.has(path)) return
      for (const target of byPath.get(path)?.imports ?? []) {
        // A type is gone when the program runs; a circle of types alone is none.
        if (!target.isTypeOnly) follow(target.path, [...trail, path])
      }
      done.add(path)
    }
    for (const { path } of SOURCES) follow(path, [])
    expect(circles).toEqual([])
  })

  test('know an engine in its two drivers alone', () => {
    const drivers = ['better-sqlite3', 'pg']
    const wrong = SOURCES.filter(({ folder }) => folder !== 'db')
      .filter(({ text }) => drivers.some((name) => text.includes(`from '${name}'`)))
      .map(({ path }) => path)
    expect(wrong).toEqual([])
    const loaders = SOURCES.filter(({ text }) => text.includes(`'better-sqlite3`)).map(({ path }) => path)
    expect(loaders).toEqual(['db/sqlite-library.ts'])
  })

  test(`have at most ${LINES_MAX} lines each`, () => {
    const long = SOURCES.map(({ path, text }) => [path, text.split('\n').length] as const).filter(
      ([, lines]) => lines > LINES_MAX,
    )
    expect(long).toEqual([])
  })

  test('have no default export', () => {
    const isDefault = (node: ts.Node): boolean =>
      ts.isExportAssignment(node) ||
      (ts.canHaveModifiers(node) &&
        (ts.getModifiers(node) ?? []).some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword)) ||
      (ts.isExportSpecifier(node) && node.name.text === 'default')
    expect(places(isDefault)).toEqual([])
  })

  test('have no any and no exclamation mark in place of a check', () => {
    expect(places((node) => node.kind === ts.SyntaxKind.AnyKeyword)).toEqual([])
    expect(places((node) => ts.isNonNullExpression(node))).toEqual([])
  })

  test('leave no work behind in comments and do not print past the log', () => {
    const wrong = SOURCES.filter(({ text }) => /\b(TODO|FIXME|XXX)\b|console\.(log|error|warn)\(/.test(text))
    expect(wrong.map(({ path }) => path)).toEqual([])
  })
})
