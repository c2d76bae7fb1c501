import { appendChange } from '../db/changes.js'
import type { Tx } from '../db/db.js'
import { findChild, insertObject } from '../db/objects.js'
import { findSandbox, insertSandbox, type SandboxRow } from '../db/sandboxes.js'
import { findStore, setAppdata } from '../db/stores.js'
import { formatId, ZERO_OID } from '../model/ids.js'
import { APPDATA_NAME, nameKey, numberedName } from '../model/names.js'
import { randomHex } from '../model/secrets.js'
import type { Caller } from './caller.js'

const OID_BYTES = 16

/** Thrown in a read transaction when an application's folder must be made first: the request runs again as a write. */
export class MustWrite extends Error {}

/** The folder of the caller's application, made on its first use. */
export async function resolveSandbox(
  tx: Tx,
  caller: Caller,
  canWrite: boolean,
  nowMs: number,
): Promise<SandboxRow> {
  const known = await findSandbox(tx, caller.userId, caller.appId)
  if (known !== undefined) return known
  if (!canWrite) throw new MustWrite()
  await tx.lock('stores', caller.rootSid)
  const raced = await findSandbox(tx, caller.userId, caller.appId)
  if (raced !== undefined) return raced
  const container = await resolveContainer(tx, caller, nowMs)
  const name = await freeName(tx, caller.rootSid, container, caller.appId)
  const made = await makeFolder(tx, caller, container, name, nowMs)
  await insertSandbox(tx, caller.userId, caller.appId, made)
  return made
}

async function resolveContainer(tx: Tx, caller: Caller, nowMs: number): Promise<string> {
  const store = await findStore(tx, caller.rootSid)
  if (store?.appdata !== null && store?.appdata !== undefined) return store.appdata
  const { oid } = await makeFolder(tx, caller, ZERO_OID, APPDATA_NAME, nowMs)
  await setAppdata(tx, caller.rootSid, oid)
  return oid
}

/** A person may have put something of that name there; the application gets its folder all the same. */
async function freeName(tx: Tx, sid: string, parent: string, wanted: string): Promise<string> {
  let name = wanted
  for (let number = 2; (await findChild(tx, sid, parent, nameKey(name))) !== undefined; number += 1) {
    name = numberedName(wanted, number)
  }
  return name
}

async function makeFolder(
  tx: Tx,
  caller: Caller,
  parent: string,
  name: string,
  nowMs: number,
): Promise<SandboxRow> {
  const sid = caller.rootSid
  const oid = randomHex(OID_BYTES)
  await insertObject(tx, { sid, oid, parent, name, nameKey: nameKey(name), kind: 'folder', nowMs })
  await appendChange(tx, {
    atMs: nowMs,
    actor: caller.userId,
    device: caller.deviceId,
    origin: caller.origin,
    action: 'folder.create',
    subject: formatId(sid, oid),
    before: undefined,
    after: { parent: formatId(sid, parent), name },
  })
  return { sid, oid }
}
