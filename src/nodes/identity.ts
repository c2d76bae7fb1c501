import { link, mkdir, open, readFile, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { isHex } from '../model/ids.js'
import { randomHex } from '../model/secrets.js'

const FILE_NAME = 'node-id'
const ID_HEX_DIGITS = 32

/** The id of the node whose data folder this is, made on first use. Two first uses at once agree on one. */
export async function nodeIdentity(dataDir: string): Promise<string> {
  const path = join(dataDir, FILE_NAME)
  const known = await readId(path)
  if (known !== undefined) return known
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const id = randomHex(ID_HEX_DIGITS / 2)
  const draft = `${path}.${id}`
  const file = await open(draft, 'wx', 0o600)
  try {
    await file.writeFile(`${id}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await linkOrKeep(draft, path)
  return (await readId(path)) ?? id
}

/** The id of the node whose data folder this is; undefined when it is none. */
export function knownIdentity(dataDir: string): Promise<string | undefined> {
  return readId(join(dataDir, FILE_NAME))
}

async function readId(path: string): Promise<string | undefined> {
  let text: string
  try {
    text = (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
  if (!isHex(text, ID_HEX_DIGITS)) throw new Error(`${path} does not hold the id of a node`)
  return text
}

/** The first one to give the draft its name wins; the others read what it wrote. */
async function linkOrKeep(draft: string, path: string): Promise<void> {
  try {
    await link(draft, path)
    await unlink(draft)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') await unlink(draft)
    else await rename(draft, path)
  }
  const folder = await open(join(path, '..'), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
