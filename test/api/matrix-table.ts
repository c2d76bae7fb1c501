/**
 * Who may do what, as a table that a person has read. The test walks the route table and looks every cell up here; a
 * route that is not named here fails.
 */
import type { CallOptions } from '../support/client.js'

export const PRINCIPALS = [
  'P1 no token',
  'P2 garbage',
  'P3 expired',
  'P4 revoked',
  'P5 wrong scope',
  'P6/P7 appdata only',
  'P8 other user',
  'P9 viewer',
  'P10 editor',
  'P11 manager without write',
  'P12 owner',
  'P13 group-only member',
  'P14 pending invitee',
  'P15 removed member',
  'gone by their own will',
  'P16 deleted user',
  'P16 deleted user, address used again',
  'P17 admin without the scope',
  'P18 admin with the scope',
  'P18 admin with the scope alone',
  'P21 qualified',
  'P22 demoted admin',
] as const
export type Principal = (typeof PRINCIPALS)[number]

/** Where the object lies: in the owner's private folder, in a folder of the qualified token, in a sandbox, in a share. */
export const PLACES = [
  'private',
  'qualified',
  'sandbox of A',
  'sandbox of B',
  'share',
  'qualified in the share',
] as const
export type Place = (typeof PLACES)[number] | 'root'

export type Cell = 'ok' | 401 | 403 | 404
export type Group = 'read' | 'write' | 'move'

const all = (cell: Cell): Record<Place, Cell> => ({
  private: cell,
  qualified: cell,
  'sandbox of A': cell,
  'sandbox of B': cell,
  share: cell,
  'qualified in the share': cell,
  root: cell,
})

/** Sees nothing of the owner; `root` is the caller's own. */
const STRANGER: Record<Place, Cell> = { ...all(404), root: 'ok' }

/** Sees what is in the share and nothing else. */
const inShare = (cell: Cell): Record<Place, Cell> => ({
  ...STRANGER,
  share: cell,
  'qualified in the share': cell,
})

const READ: Readonly<Record<Principal, Record<Place, Cell>>> = {
  'P1 no token': all(401),
  'P2 garbage': all(401),
  'P3 expired': all(401),
  'P4 revoked': all(401),
  'P5 wrong scope': all(403),
  'P6/P7 appdata only': { ...all(404), 'sandbox of A': 'ok' },
  'P8 other user': STRANGER,
  'P9 viewer': inShare('ok'),
  'P10 editor': inShare('ok'),
  'P11 manager without write': inShare('ok'),
  'P12 owner': all('ok'),
  'P13 group-only member': inShare('ok'),
  'P14 pending invitee': STRANGER,
  'P15 removed member': STRANGER,
  'gone by their own will': STRANGER,
  'P16 deleted user': all(401),
  'P16 deleted user, address used again': all(401),
  'P17 admin without the scope': STRANGER,
  'P18 admin with the scope': inShare('ok'),
  'P18 admin with the scope alone': all(403),
  'P21 qualified': { ...all(403), qualified: 'ok', 'qualified in the share': 'ok' },
  'P22 demoted admin': STRANGER,
}

const WRITE: Readonly<Record<Principal, Record<Place, Cell>>> = {
  ...READ,
  'P9 viewer': inShare(403),
  'P11 manager without write': inShare(403),
}

/** A move to the caller's root needs the right at both ends. */
const MOVE: Readonly<Record<Principal, Record<Place, Cell>>> = {
  ...WRITE,
  'P6/P7 appdata only': all(404),
  'P21 qualified': all(403),
}

const RIGHTS: Readonly<Record<Group, typeof READ>> = { read: READ, write: WRITE, move: MOVE }

export function expectedCell(group: Group, principal: Principal, place: Place, version: string): Cell {
  // Version 1.0 has no appdata, so the scope opens nothing there and says nothing of what exists.
  if (principal === 'P6/P7 appdata only' && version === '1.0') return 403
  return RIGHTS[group][principal][place]
}

/** One way to call a route: on what, with what, and its documented success in each version. */
export interface Way {
  readonly name: string
  readonly group: Group
  readonly target: 'folder' | 'file' | 'none'
  readonly ok: Readonly<Record<string, number>>
  /** HEAD is tried as well. */
  readonly isRead?: boolean
  /** `root` is a target too. */
  readonly takesRoot?: boolean
  readonly send?: (id: string, name: string) => CallOptions
}

const every = (status: number): Record<string, number> => ({ '1.0': status, '1.3': status, '1.4': status })
const UPLOADED = { '1.0': 200, '1.3': 204, '1.4': 204 }

function read(target: Way['target']): Way[] {
  return [
    { name: 'read', group: 'read', target, ok: every(200), isRead: true, takesRoot: target === 'folder' },
  ]
}

const CREATE: Way = {
  name: 'create',
  group: 'write',
  target: 'folder',
  ok: every(201),
  send: (id, name) => ({ json: { name, parent: id } }),
}

function place(target: 'folder' | 'file'): Way[] {
  return [
    { name: 'rename', group: 'write', target, ok: every(200), send: (_, name) => ({ json: { name } }) },
    {
      name: 'move to root',
      group: 'move',
      target,
      ok: every(200),
      send: (_, name) => ({ json: { name, parent: 'root' } }),
    },
  ]
}

function remove(target: 'folder' | 'file'): Way[] {
  return [{ name: 'delete', group: 'write', target, ok: every(204) }]
}

export const ROWS: Readonly<Record<string, readonly Way[]>> = {
  'GET /folders/:id': read('folder'),
  'GET /folders/:id/path': read('folder'),
  'GET /folders/:id/children': read('folder'),
  'GET /folders/children': read('none'),
  'GET /folders//children': read('none'),
  'GET /children': read('none'),
  'GET /children/:id': read('folder'),
  'POST /folders': [{ ...CREATE, takesRoot: true }],
  'PUT /folders/:id': place('folder'),
  'DELETE /folders/:id': remove('folder'),
  'GET /files/:id': read('file'),
  'GET /files/:id/path': read('file'),
  'POST /files': [{ ...CREATE, takesRoot: true }],
  'PUT /files/:id': place('file'),
  'DELETE /files/:id': remove('file'),
  'GET /files/:id/content': read('file'),
  'PUT /files/:id/content': [
    { name: 'whole', group: 'write', target: 'file', ok: UPLOADED, send: () => ({ body: 'replaced' }) },
    {
      name: 'begin',
      group: 'write',
      target: 'file',
      ok: UPLOADED,
      send: () => ({ body: '', headers: { 'Content-Range': 'bytes */*' } }),
    },
    {
      name: 'chunk',
      group: 'write',
      target: 'file',
      ok: UPLOADED,
      send: () => ({ body: 're', headers: { 'Content-Range': 'bytes 0-1/8' } }),
    },
  ],
}

/** Rows that serve a caller without a token. */
export const OPEN_ROWS: readonly string[] = []

/** Everything that is served outside /api, and what it gives a caller without a token on the node itself. */
export const OUTSIDE: Readonly<Record<string, number>> = {
  '/': 303,
  '/healthz': 200,
  '/metrics': 200,
  '/openapi.json': 200,
  '/docs': 200,
  '/docs/style.css': 200,
}
