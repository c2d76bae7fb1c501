// Fills the SQLite file of a stopped Starling with objects, because a million requests would take the day.
// The tree: root / everything / tops of 100 folders / folders of 100 files. The files hold small content.
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { SQLITE } from './packages.mjs'

const FILES_EACH = 100
const FOLDERS_EACH = 100
const ZERO_OID = '0'.repeat(32)

const POOL_HEX = randomBytes(1 << 20).toString('hex')

/** Random enough for ids of a benchmark, and far cheaper than asking for a few random bytes a million times. */
function someHex(digits) {
  const start = Math.floor(Math.random() * (POOL_HEX.length - digits))
  return POOL_HEX.slice(start, start + digits)
}

/** Names in ascending order that still spread over the whole space, as random ones do; ascending is fast to insert. */
function ascendingHex(count, bytes) {
  let index = 0
  return () => {
    const lead = Math.floor((index++ / count) * 0xffffffff)
    return lead.toString(16).padStart(8, '0') + someHex(bytes * 2 - 8)
  }
}

export async function populate(data, { email, objects }) {
  const { default: Database } = await import(SQLITE)
  const file = readdirSync(data).find((name) => name.endsWith('.db'))
  const database = new Database(join(data, file))
  database.pragma('synchronous = OFF')
  database.pragma('foreign_keys = OFF')
  database.pragma('cache_size = -1000000')
  const { root_sid: sid } = database.prepare('SELECT root_sid FROM users WHERE email = ?').get(email)
  const object = database.prepare(
    `INSERT INTO objects (sid, oid, parent, name, name_key, kind, content, size, modified_ms, created_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const blob = database.prepare('INSERT INTO blobs (hash, size, data, created_ms) VALUES (?, ?, ?, ?)')
  const nextOid = ascendingHex(objects + 1000, 16)
  const nextHash = ascendingHex(objects, 32)
  const nowMs = Date.now()
  const addFolder = (name, parent) => {
    const oid = nextOid()
    object.run(sid, oid, parent, name, name, 'folder', null, null, null, nowMs)
    return oid
  }
  const addFile = (name, parent) => {
    const [hash, content] = [nextHash(), Buffer.from(someHex(16))]
    blob.run(hash, content.length, content, nowMs)
    object.run(sid, nextOid(), parent, name, name, 'file', hash, content.length, nowMs, nowMs)
  }
  const folders = []
  let used = 0
  const fill = () => {
    const everything = addFolder('everything', ZERO_OID)
    const empty = addFolder('nothing', ZERO_OID)
    const places = [addFolder('place-a', ZERO_OID), addFolder('place-b', ZERO_OID)]
    const folderCount = Math.floor(objects / (FILES_EACH + 1))
    let top
    for (let index = 0; index < folderCount; index++) {
      if (index % FOLDERS_EACH === 0) top = addFolder(`top-${index}`, everything)
      const folder = addFolder(`folder-${index}`, top)
      folders.push(sid + folder)
      for (let position = 0; position < FILES_EACH; position++) addFile(`document-${position}.txt`, folder)
      used += FILES_EACH * 16
    }
    database.prepare('UPDATE stores SET used = used + ? WHERE sid = ?').run(used, sid)
    database.prepare('UPDATE nodes SET used = used + ?').run(used)
    return { everything: sid + everything, empty: sid + empty, places: places.map((oid) => sid + oid) }
  }
  const fixed = database.transaction(fill)()
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
  return { ...fixed, folders }
}
