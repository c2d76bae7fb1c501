/** Every way in which the data can be broken, and what the check must say about it. */
import { randomBytes } from 'node:crypto'
import { readFile, rm, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { formatId, ZERO_OID } from '../../src/model/ids.js'
import type { Invariant } from '../../src/service/check.js'
import { SWEEP_GRACE_MS } from '../../src/service/sweep.js'
import { NODE, type Filled, type World } from './check-world.js'

const NOBODY = 'f'.repeat(32)
export const NO_HASH = 'f'.repeat(64)

type Broken = readonly [invariant: Invariant, subject: string]

interface Case {
  readonly title: string
  /** Breaks one thing and says what must be found, and nothing else. */
  readonly damage: (world: World, filled: Filled) => Promise<Broken[]>
}

export const TABLES: readonly Case[] = [
  {
    title: 'a file whose content has no row',
    async damage({ breakTables, sid }, { small }) {
      await breakTables(
        `DELETE FROM blobs WHERE hash = '${small.hash}'`,
        'UPDATE nodes SET used = used - 100',
      )
      return [['object-content', formatId(sid, small.oid)]]
    },
  },
  {
    title: 'a folder with content',
    async damage({ breakTables, sid }, { small, letters }) {
      await breakTables(
        `UPDATE objects SET content = '${small.hash}', size = 100 WHERE oid = '${letters.oid}'`,
        'UPDATE stores SET used = used + 100',
      )
      return [['object-content', formatId(sid, letters.oid)]]
    },
  },
  {
    title: 'a file whose size is not that of its content',
    async damage({ breakTables, sid }, { large }) {
      await breakTables(
        `UPDATE objects SET size = size + 1 WHERE oid = '${large.oid}'`,
        'UPDATE stores SET used = used + 1',
      )
      return [['object-size', formatId(sid, large.oid)]]
    },
  },
  {
    title: 'an object of a store that does not exist',
    async damage({ breakTables }) {
      await breakTables(
        `INSERT INTO objects (sid, oid, name, name_key, kind, created_ms)
         VALUES ('${NOBODY}', '${ZERO_OID}', 'x', 'x', 'folder', 0)`,
      )
      return [['object-store', formatId(NOBODY, ZERO_OID)]]
    },
  },
  {
    title: 'folders that lie below each other, and what hangs below them',
    async damage({ breakTables, sid }, { documents, letters, small, large }) {
      await breakTables(`UPDATE objects SET parent = '${letters.oid}' WHERE oid = '${documents.oid}'`)
      return [
        ['folder-cycle', formatId(sid, documents.oid)],
        ['folder-cycle', formatId(sid, letters.oid)],
        ['unreachable', formatId(sid, small.oid)],
        ['unreachable', formatId(sid, large.oid)],
      ]
    },
  },
  {
    title: 'an object whose parent does not exist, and what hangs below it',
    async damage({ breakTables, sid }, { letters, small }) {
      await breakTables(`UPDATE objects SET parent = '${NOBODY}' WHERE oid = '${letters.oid}'`)
      return [
        ['parent-missing', formatId(sid, letters.oid)],
        ['unreachable', formatId(sid, small.oid)],
      ]
    },
  },
  {
    title: 'an object without a parent that is no root',
    async damage({ breakTables, sid }, { small }) {
      await breakTables(`UPDATE objects SET parent = NULL WHERE oid = '${small.oid}'`)
      return [['parent-missing', formatId(sid, small.oid)]]
    },
  },
  {
    title: 'an object whose parent is a file',
    async damage({ breakTables, sid }, { small, large }) {
      await breakTables(`UPDATE objects SET parent = '${large.oid}' WHERE oid = '${small.oid}'`)
      return [['parent-not-folder', formatId(sid, small.oid)]]
    },
  },
  {
    title: 'siblings with one name, where the index does not forbid it',
    async damage({ breakTables, sid }, { documents, large }) {
      await breakTables(
        'DROP INDEX objects_by_name',
        `UPDATE objects SET name = 'Letters', name_key = 'Letters' WHERE oid = '${large.oid}'`,
      )
      return [['name-duplicate', formatId(sid, documents.oid)]]
    },
  },
  {
    title: 'a name that is filed under another key',
    async damage({ breakTables, sid }, { large }) {
      await breakTables(`UPDATE objects SET name_key = 'other' WHERE oid = '${large.oid}'`)
      return [['name-key', formatId(sid, large.oid)]]
    },
  },
  {
    title: 'siblings whose names differ in their form alone, when the key is not in its normal form',
    async damage({ breakTables, sid, folder }) {
      await folder('\u00e9t\u00e9')
      const other = await folder('summer')
      await breakTables(
        `UPDATE objects SET name = 'e\u0301te\u0301', name_key = 'e\u0301te\u0301' WHERE oid = '${other.oid}'`,
      )
      return [
        ['name-key', formatId(sid, other.oid)],
        ['name-duplicate', formatId(sid, other.oid)],
      ]
    },
  },
  {
    title: 'a name that breaks the rules',
    async damage({ breakTables, sid }, { small }) {
      await breakTables(`UPDATE objects SET name = 'a/b', name_key = 'a/b' WHERE oid = '${small.oid}'`)
      return [['name-rules', formatId(sid, small.oid)]]
    },
  },
  {
    title: 'a store without a root',
    async damage({ breakTables, addUser }) {
      const { root_sid: sid } = await addUser('bob@example.org')
      await breakTables(`DELETE FROM objects WHERE sid = '${sid}'`)
      return [['store-root', sid]]
    },
  },
  {
    title: 'a root that is no folder',
    async damage({ breakTables, addUser }) {
      const { root_sid: sid } = await addUser('bob@example.org')
      await breakTables(`UPDATE objects SET kind = 'file' WHERE sid = '${sid}'`)
      return [['store-root', sid]]
    },
  },
  {
    title: 'a root with a parent',
    async damage({ breakTables, sid }, { documents }) {
      await breakTables(
        `UPDATE objects SET parent = '${documents.oid}' WHERE sid = '${sid}' AND oid = '${ZERO_OID}'`,
      )
      return [['root-parent', formatId(sid, ZERO_OID)]]
    },
  },
  {
    title: 'a user without a store',
    async damage({ breakTables, addUser }) {
      const bob = await addUser('bob@example.org')
      await breakTables(
        `DELETE FROM objects WHERE sid = '${bob.root_sid}'`,
        `DELETE FROM stores WHERE sid = '${bob.root_sid}'`,
      )
      return [['user-store', bob.id]]
    },
  },
  {
    title: 'a user whose store is no root',
    async damage({ breakTables, addUser }) {
      const bob = await addUser('bob@example.org')
      await breakTables(`UPDATE stores SET kind = 'share' WHERE sid = '${bob.root_sid}'`)
      return [
        ['share-store', bob.root_sid],
        ['user-store', bob.id],
      ]
    },
  },
  {
    title: 'a root store without a user',
    async damage({ breakTables, addUser }) {
      const bob = await addUser('bob@example.org')
      await breakTables(
        `DELETE FROM tokens WHERE user_id = '${bob.id}'`,
        `DELETE FROM users WHERE id = '${bob.id}'`,
      )
      return [['store-user', bob.root_sid]]
    },
  },
  {
    title: 'a store that counts wrong',
    async damage({ breakTables, sid }) {
      await breakTables('UPDATE stores SET used = used + 1')
      return [['store-used', sid]]
    },
  },
  {
    title: 'a node that counts wrong',
    async damage({ breakTables }) {
      await breakTables('UPDATE nodes SET used = used - 1')
      return [['node-used', NODE]]
    },
  },
  {
    title: "an application's folder outside the root of its user",
    async damage({ breakTables, addUser, sid }) {
      const bob = await addUser('bob@example.org')
      await breakTables(
        `UPDATE sandboxes SET sid = '${bob.root_sid}', oid = '${ZERO_OID}' WHERE sid = '${sid}'`,
      )
      return [['sandbox-store', formatId(bob.root_sid, ZERO_OID)]]
    },
  },
  {
    title: "an application's folder that does not exist",
    async damage({ breakTables, sid }) {
      await breakTables(`UPDATE sandboxes SET oid = '${NOBODY}'`)
      return [['sandbox-store', formatId(sid, NOBODY)]]
    },
  },
  {
    title: 'a folder of applications that is not directly in the root',
    async damage({ breakTables, sid }, { letters }) {
      await breakTables(`UPDATE stores SET appdata = '${letters.oid}'`)
      return [['store-appdata', sid]]
    },
  },
  {
    title: 'a folder of applications that is a file',
    async damage({ breakTables, sid, emptyFile }) {
      const { oid } = await emptyFile('no folder')
      await breakTables(`UPDATE stores SET appdata = '${oid}'`)
      return [['store-appdata', sid]]
    },
  },
  {
    title: 'a token whose scopes make no sense',
    async damage({ breakTables, db }) {
      await breakTables(`UPDATE tokens SET scopes = 'files.read,files.eat'`)
      const token = await db.read((tx) => tx.get<{ device_id: string }>('SELECT device_id FROM tokens'))
      return [['token-scopes', token?.device_id ?? '']]
    },
  },
]

export const CONTENT: readonly Case[] = [
  {
    title: 'content that no object names',
    async damage({ breakTables }) {
      await breakTables(
        `INSERT INTO blobs (hash, size, place, data, created_ms)
         SELECT '${NO_HASH}', size, NULL, data, 0 FROM blobs WHERE size = 0`,
      )
      return [
        ['blob-orphan', NO_HASH],
        ['blob-hash', NO_HASH],
      ]
    },
  },
  {
    title: 'content whose only object is gone',
    async damage({ breakTables }, { small }) {
      await breakTables(
        `DELETE FROM objects WHERE oid = '${small.oid}'`,
        'UPDATE stores SET used = used - 100',
      )
      return [['blob-orphan', small.hash]]
    },
  },
  {
    title: 'content whose file is missing',
    async damage(world, { large }) {
      await rm(await blobPath(world, large.hash))
      return [['blob-missing', large.hash]]
    },
  },
  {
    title: 'content whose place is not one',
    async damage({ breakTables }, { large }) {
      await breakTables(`UPDATE blobs SET place = '../../etc/passwd' WHERE hash = '${large.hash}'`)
      return [['blob-missing', large.hash]]
    },
  },
  {
    title: 'a content file of the wrong length',
    async damage(world, { large }) {
      await truncate(await blobPath(world, large.hash), 199_999)
      return [['blob-length', large.hash]]
    },
  },
  {
    title: 'a content file with a flipped bit',
    async damage(world, { large }) {
      const path = await blobPath(world, large.hash)
      const bytes = await readFile(path)
      bytes[150_000] = (bytes[150_000] ?? 0) ^ 1
      await writeFile(path, bytes)
      return [['blob-hash', large.hash]]
    },
  },
  {
    title: 'a content file that cannot be read',
    async damage(world, { large }) {
      const { blobs } = world
      const open = blobs.open.bind(blobs)
      blobs.open = async (place) => {
        const reader = await open(place)
        if (!place.startsWith(large.hash)) return reader
        return { ...reader, read: () => Promise.reject(new Error('EIO: i/o error, read')) }
      }
      return [['blob-unreadable', large.hash]]
    },
  },
  {
    title: 'content in the database of the wrong length',
    async damage({ write }, { small }) {
      await write((tx) => tx.run('UPDATE blobs SET data = $2 WHERE hash = $1', small.hash, randomBytes(99)))
      return [['blob-length', small.hash]]
    },
  },
  {
    title: 'content in the database with other bytes',
    async damage({ write }, { small }) {
      await write((tx) => tx.run('UPDATE blobs SET data = $2 WHERE hash = $1', small.hash, randomBytes(100)))
      return [['blob-hash', small.hash]]
    },
  },
  {
    title: 'an old content file that no row names',
    async damage(world) {
      const { staging, blobs, dataDir } = world
      const staged = staging.path('a'.repeat(32))
      await writeFile(staged, 'left over')
      const place = await blobs.put(staged, NO_HASH, 9)
      await staging.remove('a'.repeat(32))
      await age(join(dataDir, 'blobs', 'ff', 'ff', place))
      return [['blob-leftover', place]]
    },
  },
]

export const UPLOADS: readonly Case[] = [
  {
    title: 'an old staged file that no upload names',
    async damage({ staging }) {
      const name = 'b'.repeat(32)
      await writeFile(staging.path(name), 'left over')
      await age(staging.path(name))
      return [['staged-leftover', name]]
    },
  },
  {
    title: 'an upload whose staged file is missing',
    async damage({ staging }, { upload }) {
      await staging.remove(upload.staged)
      return [['upload-missing', upload.id]]
    },
  },
  {
    title: 'an upload whose staged file is shorter than what was received',
    async damage({ staging }, { upload }) {
      await truncate(staging.path(upload.staged), 4 * 1024 * 1024 + 122)
      return [['upload-short', upload.id]]
    },
  },
  {
    title: 'an upload with too few block hashes',
    async damage({ breakTables }, { upload }) {
      await breakTables('DELETE FROM upload_blocks')
      return [['upload-blocks', upload.id]]
    },
  },
  {
    title: 'an upload with too many block hashes',
    async damage({ breakTables }, { upload }) {
      await breakTables(
        'INSERT INTO upload_blocks (upload, position, hash) SELECT upload, 1, hash FROM upload_blocks',
      )
      return [['upload-blocks', upload.id]]
    },
  },
  {
    title: 'an upload with a block hash out of its place',
    async damage({ breakTables }, { upload }) {
      await breakTables('UPDATE upload_blocks SET position = 1')
      return [['upload-blocks', upload.id]]
    },
  },
]

export async function blobPath({ dataDir, placeOf }: World, hash: string): Promise<string> {
  return join(dataDir, 'blobs', hash.slice(0, 2), hash.slice(2, 4), await placeOf(hash))
}

/** Older than anything that can still be under way. */
export async function age(path: string): Promise<void> {
  const then = new Date(Date.now() - SWEEP_GRACE_MS - 60_000)
  await utimes(path, then, then)
}
