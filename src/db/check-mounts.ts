/** What `starling check` asks about shared folders in people's roots. */
import type { Tx } from './db.js'

/** Mounts without a share that belongs there (`personal_name` is null), or under another name than the person's. */
export function listStrayMounts(
  tx: Tx,
): Promise<{ sid: string; oid: string; name: string; personal_name: string | null }[]> {
  return tx.all(
    `SELECT o.sid, o.oid, o.name, m.name AS personal_name FROM objects o
     LEFT JOIN users u ON u.root_sid = o.sid
     LEFT JOIN memberships m ON m.user_id = u.id AND m.sid = o.oid AND m.state = 'joined' AND m.is_external = 0
     WHERE o.kind = 'mount' AND (m.sid IS NULL OR m.name <> o.name) ORDER BY o.sid, o.oid`,
  )
}

/** Shares that should be mounted in a root and are not. */
export function listUnmounted(tx: Tx): Promise<{ root_sid: string; sid: string }[]> {
  return tx.all(
    `SELECT u.root_sid, m.sid FROM memberships m JOIN users u ON u.id = m.user_id
     LEFT JOIN objects o ON o.sid = u.root_sid AND o.oid = m.sid AND o.kind = 'mount'
     WHERE m.state = 'joined' AND m.is_external = 0 AND o.oid IS NULL ORDER BY u.root_sid, m.sid`,
  )
}

/** UNION ends the walk where a folder comes up again. */
export function listMountsAmongApplications(tx: Tx): Promise<{ sid: string; oid: string }[]> {
  return tx.all(
    `WITH RECURSIVE above (sid, mount, oid) AS (
       SELECT sid, oid, parent FROM objects WHERE kind = 'mount'
       UNION
       SELECT a.sid, a.mount, o.parent FROM above a JOIN objects o ON o.sid = a.sid AND o.oid = a.oid
     )
     SELECT a.sid, a.mount AS oid FROM above a JOIN stores s ON s.sid = a.sid AND s.appdata = a.oid
     ORDER BY a.sid, a.mount`,
  )
}
