import { chmod, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openDatabase } from '../../src/db/open.js'

it('a database is for its owner alone, also in a data folder that others may look into', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'starling-modes-'))
  const dataDir = join(parent, 'data')
  await mkdir(dataDir)
  await chmod(dataDir, 0o755)
  const umask = process.umask(0o022)
  try {
    const db = await openDatabase({ url: undefined, dataDir })
    await db.write((tx) => tx.run("UPDATE meta SET value = value WHERE key = 'epoch'"))
    const names = (await readdir(dataDir)).filter((name) => name.startsWith('starling.db'))
    expect(names).toContain('starling.db')
    expect(names).toContain('starling.db-wal')
    for (const name of names) expect((await stat(join(dataDir, name))).mode & 0o777, name).toBe(0o600)
    await db.close()
    // Whoever let others in afterwards meant it.
    await chmod(join(dataDir, 'starling.db'), 0o640)
    await (await openDatabase({ url: undefined, dataDir })).close()
    expect((await stat(join(dataDir, 'starling.db'))).mode & 0o777).toBe(0o640)
  } finally {
    process.umask(umask)
    await rm(parent, { recursive: true, force: true })
  }
})
