/**
 * Who may do what about people, shares and groups, as a table that a person has read. The test walks the route table; a
 * route that is named neither here nor among the rights on folders and files fails.
 */
import type { ScopeName } from '../../src/model/scopes.js'
import type { Cast, Person } from './people/cast.js'

/** The people of the checklist, a removed member (X) and an admin who is none any more (D). */
export const ROLES = ['O', 'M', 'E', 'V', 'G', 'P', 'L', 'X', 'S', 'A', 'A0', 'D'] as const
export type Role = (typeof ROLES)[number]

export interface Stage extends Cast {
  readonly X: Person
  readonly D: Person
  /** Somebody else, and somebody who was asked to register. */
  readonly T: Person
  readonly invitee: string
  /** A group that is in no share. */
  readonly other: string
  /** Devices by the address of their owner. */
  readonly devices: ReadonlyMap<string, string>
}

export type Cells = Readonly<Record<Role, number>>

/** One way to call a route. */
export interface Way {
  readonly name: string
  /** Without any of these everybody gets 403. */
  readonly needs: readonly ScopeName[]
  readonly path: (stage: Stage, self: Person) => string
  readonly body?: (stage: Stage, self: Person) => unknown
  readonly cells: Cells
  /** The same call on what is not there; a 404 must look like it. */
  readonly nothing?: (stage: Stage) => string
  /** A success leaves the stage good for the next call. */
  readonly keeps?: boolean
}

export const UNKNOWN_SHARE = '0123456789abcdef'.repeat(2)
export const UNKNOWN_DEVICE = 'fedcba9876543210'.repeat(2)
export const UNKNOWN_GROUP = '4294967295'
export const NOBODY = 'nobody@nowhere.test'

function everybody(status: number, but: Partial<Record<Role, number>> = {}): Cells {
  return { ...(Object.fromEntries(ROLES.map((role) => [role, status])) as Record<Role, number>), ...but }
}

const admins = (refusal: number, success: number): Cells => everybody(refusal, { A: success })

/** Members see, managers change, and to all others the share does not exist. */
const readers = (status = 200): Cells =>
  everybody(404, { O: status, M: status, E: status, V: status, G: status, A: status })
const managers = (status: number): Cells =>
  everybody(404, { O: status, M: status, A: status, E: 403, V: 403, G: 403 })

const NAMES = { first_name: 'New', last_name: 'Name' }
const PASSWORD = 'a good password'

/** The route of a person: for oneself, for another one, and for nobody. */
function personal(
  part: string,
  needs: readonly ScopeName[],
  cells: { self: Cells; other: Cells; nobody: Cells },
  more: Partial<Way> = {},
): Way[] {
  const ways: [string, Way['path'], Cells][] = [
    ['me', () => `/users/me${part}`, cells.self],
    ['by address', (_, self) => `/users/${self.email}${part}`, cells.self],
    ['another', ({ T }) => `/users/${T.email}${part}`, cells.other],
    ['nobody', () => `/users/${NOBODY}${part}`, cells.nobody],
  ]
  return ways.map(([name, path, row]) => ({ name, needs, path, cells: row, ...more }))
}

const seen = (part: string, ...needs: ScopeName[]): Way[] =>
  personal(
    part,
    needs,
    { self: everybody(200), other: admins(404, 200), nobody: everybody(404) },
    { nothing: () => `/users/${NOBODY}${part}` },
  )

const guarded = (part: string, scope: ScopeName, success: number, body?: unknown): Way[] =>
  personal(
    part,
    [scope],
    { self: everybody(success), other: admins(403, success), nobody: admins(403, 404) },
    { keeps: true, ...(body === undefined ? {} : { body: () => body }) },
  )

function ofShare(
  part: string,
  more: Partial<Way> & Pick<Way, 'cells'>,
  needs: ScopeName[] = ['acl.write'],
): Way[] {
  return [
    {
      name: 'a share',
      needs,
      path: ({ sh }) => `/shares/${sh}${part}`,
      nothing: () => `/shares/${UNKNOWN_SHARE}${part}`,
      ...more,
    },
  ]
}

/** A part of the share that the stage names. */
function partOf(part: (stage: Stage) => string, needs: ScopeName[], cells: Cells, body?: unknown): Way[] {
  return [
    {
      name: 'a share',
      needs,
      path: (stage) => `/shares/${stage.sh}${part(stage)}`,
      nothing: (stage) => `/shares/${UNKNOWN_SHARE}${part(stage)}`,
      cells,
      ...(body === undefined ? {} : { body: () => body }),
    },
  ]
}

const ownMembership = (self: number, others: Partial<Record<Role, number>>): Cells =>
  everybody(404, { O: self, M: self, ...others })

const invitation = (success: number): Way[] => [
  {
    name: 'me',
    needs: ['acl.invitations'],
    path: ({ sh }) => `/users/me/invitations/${sh}`,
    nothing: () => `/users/me/invitations/${UNKNOWN_SHARE}`,
    cells: everybody(404, { P: success }),
  },
  {
    name: 'of the invited one',
    needs: ['acl.invitations'],
    path: ({ sh, P }) => `/users/${P.email}/invitations/${sh}`,
    nothing: () => `/users/${NOBODY}/invitations/${UNKNOWN_SHARE}`,
    cells: everybody(404, { P: success, A: success }),
  },
]

const device = (part: string, scope: ScopeName, body?: unknown): Way[] => {
  const common = {
    needs: [scope],
    keeps: true,
    nothing: () => `/devices/${UNKNOWN_DEVICE}${part}`,
    ...(body === undefined ? {} : { body: () => body }),
  }
  const at = (stage: Stage, { email }: Person): string => `/devices/${stage.devices.get(email) ?? ''}${part}`
  return [
    { name: 'own', path: (stage, self) => at(stage, self), cells: everybody(200), ...common },
    { name: 'another', path: (stage) => at(stage, stage.T), cells: admins(404, 200), ...common },
    { name: 'none', path: () => `/devices/${UNKNOWN_DEVICE}${part}`, cells: everybody(404), ...common },
  ]
}

const groupRead = (part: (stage: Stage) => string): Way[] => [
  {
    name: 'a group',
    needs: ['groups.read'],
    path: (stage) => `/groups/${stage.grp}${part(stage)}`,
    cells: everybody(200),
  },
  {
    name: 'none',
    needs: ['groups.read'],
    path: (stage) => `/groups/${UNKNOWN_GROUP}${part(stage)}`,
    cells: everybody(404),
  },
]

const groupWrite = (part: (stage: Stage) => string, success: number, body?: Way['body']): Way[] => {
  const more = body === undefined ? {} : { body }
  return [
    {
      name: 'a group',
      needs: [],
      path: (stage) => `/groups/${stage.grp}${part(stage)}`,
      cells: admins(403, success),
      ...more,
    },
    {
      name: 'none',
      needs: [],
      path: (stage) => `/groups/${UNKNOWN_GROUP}${part(stage)}`,
      cells: admins(403, 404),
      ...more,
    },
  ]
}

const simple = (path: string, needs: ScopeName[], cells: Cells, body?: Way['body']): Way[] => [
  { name: 'all', needs, path: () => path, cells, keeps: true, ...(body === undefined ? {} : { body }) },
]

let names = 0
const newAddress = (): string => `matrix${(names += 1)}@x.test`

export const PEOPLE_ROWS: Readonly<Record<string, readonly Way[]>> = {
  'GET /users': simple('/users', ['user.read'], everybody(200)),
  'POST /users': simple('/users', ['user.write'], admins(403, 201), () => ({
    email: newAddress(),
    ...NAMES,
  })),
  'GET /users/:email': personal('', ['user.read'], {
    self: everybody(200),
    other: everybody(200),
    nobody: everybody(404),
  }),
  'PUT /users/:email': guarded('', 'user.write', 200, NAMES),
  'DELETE /users/:email': [
    { name: 'me', needs: ['user.write'], path: () => '/users/me', cells: admins(403, 200) },
    { name: 'another', needs: ['user.write'], path: ({ T }) => `/users/${T.email}`, cells: admins(403, 200) },
    { name: 'nobody', needs: ['user.write'], path: () => `/users/${NOBODY}`, cells: admins(403, 404) },
  ],
  'PUT /users/:email/password': guarded('/password', 'user.password', 200, PASSWORD),
  'DELETE /users/:email/password': guarded('/password', 'user.password', 200),
  'GET /users/:email/two_factor': personal('/two_factor', ['user.read'], {
    self: everybody(200),
    other: admins(403, 200),
    nobody: admins(403, 404),
  }),
  'DELETE /users/:email/two_factor': guarded('/two_factor', 'user.password', 204),
  'GET /users/:email/shares': seen('/shares', 'acl.read'),
  'GET /users/:email/invitations': seen('/invitations', 'acl.invitations'),
  'GET /users/:email/devices': seen('/devices', 'user.read'),
  'GET /users/:email/quota': seen('/quota', 'user.read'),
  'GET /users/:email/groups': seen('/groups', 'user.read', 'groups.read'),
  'GET /users/:email/invitations/:share': invitation(200),
  'POST /users/:email/invitations/:share': invitation(201),
  'DELETE /users/:email/invitations/:share': invitation(204),

  'POST /invitees': simple('/invitees', [], everybody(201), () => ({ email_to: newAddress() })),
  'GET /invitees/:email': [
    { name: 'there', needs: [], path: ({ invitee }) => `/invitees/${invitee}`, cells: admins(403, 200) },
    { name: 'nobody', needs: [], path: () => `/invitees/${NOBODY}`, cells: admins(403, 404) },
  ],
  'DELETE /invitees/:email': [
    { name: 'there', needs: [], path: ({ invitee }) => `/invitees/${invitee}`, cells: admins(403, 204) },
    { name: 'nobody', needs: [], path: () => `/invitees/${NOBODY}`, cells: admins(403, 404) },
  ],

  'GET /devices/:device': device('', 'user.read'),
  'PUT /devices/:device': device('', 'user.write', { name: 'Laptop' }),
  'GET /devices/:device/status': device('/status', 'user.read'),

  'POST /shares': simple('/shares', ['acl.write'], everybody(201), () => ({ name: 'New' })),
  'GET /shares/:share': ofShare('', { cells: readers() }, ['acl.read']),
  'GET /shares/:share/members': ofShare('/members', { cells: readers() }, ['acl.read']),
  'GET /shares/:share/members/:email': [
    ...partOf(({ V }) => `/members/${V.email}`, ['acl.read'], readers()),
    ...partOf(({ grp }) => `/members/${grp}`, ['acl.read'], readers()),
    ...partOf(() => `/members/${NOBODY}`, ['acl.read'], readers(404)),
  ],
  'POST /shares/:share/members': [
    ...ofShare('/members', { cells: managers(201), body: ({ T }) => ({ email: T.email, permissions: [] }) }),
    ...ofShare('/members', {
      name: 'oneself',
      cells: everybody(404, { O: 409, M: 409, E: 403, V: 403, G: 403, A: 201 }),
      body: (_, self) => ({ email: self.email, permissions: ['WRITE', 'MANAGE'] }),
    }),
  ],
  'PUT /shares/:share/members/:email': [
    ...partOf(({ V }) => `/members/${V.email}`, ['acl.write'], managers(200), { permissions: ['WRITE'] }),
    ...partOf(() => '/members/me', ['acl.write'], ownMembership(200, { E: 403, V: 403 }), {
      permissions: ['WRITE', 'MANAGE'],
    }),
  ],
  'DELETE /shares/:share/members/:email': [
    ...partOf(({ T }) => `/members/${T.email}`, ['acl.write'], everybody(404)),
    {
      name: 'another',
      needs: ['acl.write'],
      // Nobody of the cast but the editor is the editor: the cell of E is that of leaving.
      path: ({ sh, E }) => `/shares/${sh}/members/${E.email}`,
      cells: { ...managers(204), E: 204 },
    },
    ...partOf(() => '/members/me', ['acl.write'], ownMembership(204, { E: 204, V: 204, G: 204 })),
  ],
  'GET /shares/:share/pending': ofShare('/pending', { cells: readers() }, ['acl.read']),
  'GET /shares/:share/pending/:email': partOf(({ P }) => `/pending/${P.email}`, ['acl.read'], readers()),
  'POST /shares/:share/pending': ofShare('/pending', {
    cells: managers(201),
    body: ({ T }) => ({ email: T.email, permissions: ['WRITE'] }),
  }),
  'DELETE /shares/:share/pending/:email': partOf(
    ({ P }) => `/pending/${P.email}`,
    ['acl.write'],
    managers(204),
  ),
  'GET /shares/:share/groups': ofShare('/groups', { cells: readers() }, ['acl.read']),
  'GET /shares/:share/groups/:group': partOf(({ grp }) => `/groups/${grp}`, ['acl.read'], readers()),
  'POST /shares/:share/groups': [
    ...ofShare('/groups', { cells: managers(409), body: ({ grp }) => ({ id: grp, permissions: [] }) }),
    ...ofShare('/groups', { cells: managers(404), body: () => ({ id: UNKNOWN_GROUP, permissions: [] }) }),
    ...ofShare('/groups', { cells: managers(201), body: ({ other }) => ({ id: other, permissions: [] }) }),
  ],
  'PUT /shares/:share/groups/:group': partOf(({ grp }) => `/groups/${grp}`, ['acl.write'], managers(200), {
    permissions: [],
  }),
  'DELETE /shares/:share/groups/:group': partOf(({ grp }) => `/groups/${grp}`, ['acl.write'], managers(204)),

  'GET /groups': simple('/groups', ['groups.read'], everybody(200)),
  'POST /groups': simple('/groups', [], admins(403, 201), () => ({ name: 'New' })),
  'GET /groups/:group': groupRead(() => ''),
  'GET /groups/:group/members': groupRead(() => '/members'),
  'GET /groups/:group/members/:email': groupRead(({ G }) => `/members/${G.email}`),
  'GET /groups/:group/shares': groupRead(() => '/shares'),
  'DELETE /groups/:group': groupWrite(() => '', 204),
  'POST /groups/:group/members': groupWrite(
    () => '/members',
    201,
    ({ T }) => ({ email: T.email }),
  ),
  'DELETE /groups/:group/members/:email': groupWrite(({ G }) => `/members/${G.email}`, 204),
}
