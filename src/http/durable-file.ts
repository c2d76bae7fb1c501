import { randomBytes } from 'node:crypto'
import { open, rename } from 'node:fs/promises'

/** A crash leaves the old file or the new one, whole. */
export async function writeDurably(
  directory: string,
  path: string,
  text: string,
  mode: number,
): Promise<void> {
  const temporary = `${path}.${randomBytes(8).toString('hex')}`
  const file = await open(temporary, 'wx', mode)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
  const folder = await open(directory, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
