/** The workload: which operation a client does next, by its seed and what it knows of its tree. */
import type { Random } from './random.js'
import { changedFrom, isWithin, known, type Content, type Operation, type Tree } from './tree.js'

const KIB = 1024
const THINGS_MAX = 24
const UPLOADS_MAX = 3
const REWIND_CHANCE = 0.25

/** Sizes in bytes: on either side of the limit up to which content lives in the database. */
export interface Sizes {
  smallMax: number
  largeMax: number
  chunkMax: number
}

export const USUAL_SIZES: Sizes = { smallMax: 64 * KIB, largeMax: 600 * KIB, chunkMax: 200 * KIB }
export const LITTLE_SIZES: Sizes = { smallMax: 12 * KIB, largeMax: 100 * KIB, chunkMax: 48 * KIB }

export interface Workload {
  next(tree: Tree): Operation
}

export function workload(random: Random, seedBase: number, sizes: Sizes = USUAL_SIZES): Workload {
  let counter = 0
  const fresh = (): number => (counter += 1)
  const seed = (): number => seedBase * 100_000 + fresh()
  const content = (low: number, high: number): Content => ({ seed: seed(), size: random.between(low, high) })

  const create = (tree: Tree): Operation => {
    const thing = fresh()
    const verb = random.chance(0.3) ? 'folder' : 'file'
    return { verb, thing, parent: random.pick(folders(tree)), name: `${verb} ${thing}.dat` }
  }
  const put = (thing: number): Operation => {
    const isLarge = random.chance(0.4)
    return {
      verb: 'put',
      thing,
      content: isLarge ? content(64 * KIB + 1, sizes.largeMax) : content(0, sizes.smallMax),
    }
  }
  const chunk = (tree: Tree, thing: number): Operation => {
    const under = [...tree.uploads.entries()]
    if (under.length >= UPLOADS_MAX || (under.length > 0 && random.chance(0.75))) {
      const [upload, { file, content: old, received }] = random.pick(under)
      const first = random.chance(REWIND_CHANCE) ? random.between(0, received) : received
      const whole = first < received && random.chance(0.7) ? changedFrom(old, first, seed()) : old
      const end = Math.min(whole.size, first + random.between(1, sizes.chunkMax))
      const knowsTotal = end === whole.size || random.chance(0.5)
      return { verb: 'chunk', upload, thing: file, content: whole, first, end, knowsTotal }
    }
    const whole = content(sizes.chunkMax, sizes.largeMax)
    const end = random.between(1, Math.min(sizes.chunkMax, whole.size - 1))
    return {
      verb: 'chunk',
      upload: fresh(),
      thing,
      content: whole,
      first: 0,
      end,
      knowsTotal: random.chance(0.5),
    }
  }
  const move = (tree: Tree, thing: number): Operation => {
    const targets = folders(tree).filter((folder) => !isWithin(tree, folder, thing))
    const { parent, name } = known(tree, thing)
    const isRename = random.chance(0.5)
    return {
      verb: 'move',
      thing,
      parent: isRename ? parent : random.pick(targets),
      name: isRename ? `moved ${fresh()} é.txt` : name,
    }
  }

  return {
    next: (tree) => {
      const things = [...tree.things.keys()].filter((number) => number !== 0)
      const files = things.filter((number) => known(tree, number).kind === 'file')
      if (files.length < 2) return create(tree)
      const dice = random.next()
      if (things.length > THINGS_MAX || dice < 0.08) return { verb: 'delete', thing: random.pick(things) }
      if (dice < 0.3) return create(tree)
      if (dice < 0.45) return move(tree, random.pick(things))
      if (dice < 0.7) return chunk(tree, random.pick(files))
      return put(random.pick(files))
    },
  }
}

function folders(tree: Tree): number[] {
  return [...tree.things.keys()].filter((number) => known(tree, number).kind === 'folder')
}
