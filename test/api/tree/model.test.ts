/** Random histories of a tree, told to the server and to a model of it that fits on a page. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import { listing, VERSIONS, type Kind } from './support.js'

const RUNS = 30
const OPERATIONS = 40
const LOOK_EVERY = 10

/** Few enough to meet often; two are the same name in different forms. */
const NAMES = ['a', 'B', 'caf\u00e9', 'cafe\u0301', '\u{1f600}', '\uff21']

interface Thing {
  readonly id: string
  readonly kind: Kind
  parent: Thing | undefined
  name: string
  content: string | undefined
  isGone: boolean
}

/** References are numbers that the history so far gives a meaning to: everything that ever was can be named. */
type Operation =
  | { readonly do: 'create'; readonly kind: Kind; readonly parent: number; readonly name: string }
  | {
      readonly do: 'place'
      readonly kind: Kind
      readonly object: number
      readonly parent: number | undefined
      readonly name: string | undefined
    }
  | { readonly do: 'delete'; readonly kind: Kind; readonly object: number }
  | { readonly do: 'upload'; readonly object: number; readonly content: string }

const kind = fc.constantFrom<Kind>('folders', 'files')
const name = fc.constantFrom(...NAMES)
const reference = fc.nat({ max: 1000 })
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('create' as const), kind, parent: reference, name }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('place' as const),
      kind,
      object: reference,
      parent: fc.option(reference, { nil: undefined, freq: 3 }),
      name: fc.option(name, { nil: undefined, freq: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), kind, object: reference }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('upload' as const),
      object: reference,
      content: fc.constantFrom('', 'hello', 'other'),
    }),
  },
)

const history = fc.array(fc.tuple(operation, fc.constantFrom(...VERSIONS)), {
  minLength: OPERATIONS,
  maxLength: OPERATIONS,
})

class Model {
  readonly things: Thing[]

  constructor(rootId: string) {
    this.things = [
      { id: rootId, kind: 'folders', parent: undefined, name: '', content: undefined, isGone: false },
    ]
  }

  thing(reference: number): Thing {
    const thing = this.things[reference % this.things.length]
    if (thing === undefined) throw new Error('there is always a root')
    return thing
  }

  children(parent: Thing): Thing[] {
    return this.things.filter((thing) => thing.parent === parent && !thing.isGone)
  }

  isTaken(parent: Thing, name: string, except?: Thing): boolean {
    return this.children(parent).some(
      (thing) => thing !== except && thing.name.normalize() === name.normalize(),
    )
  }

  create(parent: Thing, name: string): number {
    if (parent.isGone) return 404
    if (parent.kind === 'files') return 400
    return this.isTaken(parent, name) ? 409 : 201
  }

  place(kind: Kind, object: Thing, parent: Thing | undefined, name: string | undefined): number {
    if (parent === undefined && name === undefined) return 400
    if (object.isGone || object.kind !== kind || parent?.isGone === true) return 404
    if (object.parent === undefined || parent?.kind === 'files') return 400
    const [newParent, newName] = [parent ?? object.parent, name ?? object.name]
    for (let above: Thing | undefined = newParent; above !== undefined; above = above.parent) {
      if (above === object) return 400
    }
    if (this.isTaken(newParent, newName, object)) return 409
    object.parent = newParent
    object.name = newName
    return 200
  }

  delete(kind: Kind, object: Thing): number {
    if (object.isGone || object.kind !== kind) return 404
    if (object.parent === undefined) return 400
    this.forget(object)
    return 204
  }

  private forget(object: Thing): void {
    for (const child of this.children(object)) this.forget(child)
    object.isGone = true
  }
}

/** Does one thing to both and compares what they say. */
async function step(api: Client, model: Model, operation: Operation, uploadStatus: number): Promise<void> {
  switch (operation.do) {
    case 'create': {
      const { kind, name } = operation
      const parent = model.thing(operation.parent)
      const expected = model.create(parent, name)
      const answer = await api.post(`/${kind}`, { name, parent: parent.id })
      expect(answer.status, answer.text).toBe(expected)
      if (expected !== 201) return
      model.things.push({ id: answer.json.id, kind, parent, name, content: undefined, isGone: false })
      return
    }
    case 'place': {
      const { kind, name } = operation
      const object = model.thing(operation.object)
      const parent = operation.parent === undefined ? undefined : model.thing(operation.parent)
      const answer = await api.put(`/${kind}/${object.id}`, { name, parent: parent?.id })
      const expected = model.place(kind, object, parent, name)
      expect(answer.status, answer.text).toBe(expected)
      if (expected === 200) expect([answer.json.id, answer.json.name]).toEqual([object.id, object.name])
      return
    }
    case 'delete': {
      const object = model.thing(operation.object)
      const answer = await api.delete(`/${operation.kind}/${object.id}`)
      expect(answer.status, answer.text).toBe(model.delete(operation.kind, object))
      return
    }
    case 'upload': {
      const file = model.thing(operation.object)
      const isThere = !file.isGone && file.kind === 'files'
      const answer = await api.upload(file.id, operation.content)
      expect(answer.status, answer.text).toBe(isThere ? uploadStatus : 404)
      if (isThere) file.content = operation.content
    }
  }
}

/** The complete listing below a folder, compared folder by folder. */
async function expectSameTree(api: Client, model: Model, folder: Thing): Promise<void> {
  const { folders, files } = await listing(api, folder.id)
  const expected = model.children(folder).sort((a, b) => (a.name < b.name ? -1 : 1))
  const facts = (kind: Kind): object[] =>
    expected
      .filter((thing) => thing.kind === kind)
      .map(({ id, name, content }) => ({ id, name, parent: folder.id, size: content?.length }))
  const told = ({ id, name, parent, size }: Readonly<Record<string, unknown>>): object => ({
    id,
    name,
    parent,
    size,
  })
  expect(folders.map(told)).toEqual(facts('folders'))
  expect(files.map(told)).toEqual(facts('files'))
  for (const child of expected) if (child.kind === 'folders') await expectSameTree(api, model, child)
}

async function expectSameContents(api: Client, model: Model): Promise<void> {
  for (const thing of model.things) {
    if (thing.kind !== 'files') continue
    const answer = await api.get(`/files/${thing.id}/content`)
    const isReadable = !thing.isGone && thing.content !== undefined
    expect(answer.status).toBe(isReadable ? 200 : 404)
    if (isReadable) expect(answer.text).toBe(thing.content)
  }
}

describe.each(ENGINES)('a tree on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  it(
    'does what a small model of it does [NAME-13] [NAME-14] [MOVE-8] [MOVE-9] [DEL-2]',
    { timeout: 300_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(history, async (operations) => {
          const { api, token } = await server.person()
          const clients = new Map(VERSIONS.map((version) => [version, server.client(token, version)]))
          const model = new Model((await api.get('/folders/root')).json.id)
          const root = model.thing(0)
          for (const [index, [operation, version]] of operations.entries()) {
            await step(clients.get(version) ?? api, model, operation, version === '1.0' ? 200 : 204)
            if (index % LOOK_EVERY === 0) await expectSameTree(api, model, root)
          }
          await expectSameTree(api, model, root)
          await expectSameContents(api, model)
        }),
        { numRuns: RUNS },
      )
      expect(await server.command('check')).toMatchObject({ status: 0, stdout: 'no broken invariant\n' })
    },
  )
})
