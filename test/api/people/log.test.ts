/** The change log as the command line shows it. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { expectRefusal, printedJson } from '../../cli/support.js'
import { ENGINES } from '../../support/engines.js'
import { useServer } from '../content/support.js'
import { expectError } from '../support.js'
import { administrator, newAddress, ok, someone, type Json } from './support.js'

const PROGRAM = fileURLToPath(new URL('../../../bin/starling', import.meta.url))
const KEYS = ['seq', 'time', 'actor', 'device', 'origin', 'action', 'subject', 'before', 'after']

describe.each(ENGINES)('the change log on %s', (engine) => {
  const server = useServer(engine)
  const log = async (...args: string[]): Promise<Json[]> =>
    printedJson<Json[]>(await server().command('log', '--limit', '0', '--json', ...args))
  const newest = async (): Promise<number> => Number((await log()).at(-1)?.['seq'])

  test('tells who did what to what, from where and in which order; what was refused is not in it', async () => {
    const admin = await administrator(server())
    const [owner, guest] = [await someone(server()), await someone(server())]
    const before = await newest()
    const fresh = newAddress()
    const share = ok(await owner.api.post('/shares', { name: 'Plans' }), 201).json.id
    const members = `/shares/${share}/members`
    ok(await owner.api.post(`/shares/${share}/pending`, { email: guest.email, permissions: [] }), 201)
    ok(await guest.api.post(`/users/me/invitations/${share}`, {}), 201)
    expectError(await guest.api.post(members, { email: admin.email, permissions: [] }), 403)
    ok(await owner.api.put(`${members}/${guest.email}`, { permissions: ['WRITE'] }), 200)
    const group = ok(await admin.api.post('/groups', { name: 'G' }), 201).json.id
    ok(await admin.api.post(`/groups/${group}/members`, { email: admin.email }), 201)
    ok(await owner.api.post(`/shares/${share}/groups`, { id: group, permissions: [] }), 201)
    ok(await owner.api.delete(`/shares/${share}/groups/${group}`), 204)
    ok(await guest.api.delete(`${members}/me`), 204)
    ok(await admin.api.post('/users', { email: fresh, first_name: 'A', last_name: 'B' }), 201)
    ok(await admin.api.put(`/users/${fresh}`, { first_name: 'C' }), 200)
    ok(await admin.api.put(`/users/${fresh}/password`, 'long enough'), 200)
    ok(await admin.api.delete(`/users/${fresh}`), 200)
    expect((await server().command('user', 'quota', guest.email, '99')).status).toBe(0)

    const entries = (await log()).filter((entry) => Number(entry['seq']) > before)
    for (const entry of entries) expect(Object.keys(entry)).toEqual(KEYS)
    expect(entries.map(({ actor, action }) => `${String(actor)} ${String(action)}`)).toEqual([
      `${owner.email} share.create`,
      `${owner.email} share.invite`,
      `${guest.email} share.accept`,
      `${owner.email} share.member.change`,
      `${admin.email} group.create`,
      `${admin.email} group.member.add`,
      `${owner.email} share.group.add`,
      `${owner.email} share.group.remove`,
      `${guest.email} share.leave`,
      `${admin.email} user.create`,
      `${admin.email} user.rename`,
      `${admin.email} user.password`,
      `${admin.email} user.delete`,
      'command line user.quota',
    ])
    const sequence = entries.map(({ seq }) => Number(seq))
    expect(sequence).toEqual([...sequence].sort((a, b) => a - b))
    for (const entry of entries.slice(0, -1)) {
      expect(entry['origin']).toMatch(/127\.0\.0\.1|::1/)
      expect(entry['device']).toMatch(/^[0-9a-f]{32}$/)
    }
    expect(JSON.stringify(entries)).not.toContain('long enough')
  })

  test('is cut down to a person, an object, a kind, a time and a number of entries', async () => {
    const admin = await administrator(server())
    const person = await someone(server())
    const folder = await person.api.folder('A folder')
    const other = await someone(server())
    await other.api.folder('Another')
    ok(await admin.api.put(`/users/${person.email}`, { first_name: 'New' }), 200)
    const actions = async (...args: string[]): Promise<unknown[]> =>
      (await log(...args)).map(({ action }) => action)
    expect(await actions('--user', person.email.toUpperCase())).toEqual([
      'user.create',
      'token.create',
      'folder.create',
      'user.rename',
    ])
    expect(await actions('--object', folder)).toEqual(['folder.create'])
    for (const action of await actions('--action', 'user.')) expect(action).toMatch(/^user\./)
    expect(await actions('--user', person.email, '--action', 'folder.create')).toEqual(['folder.create'])
    expect(await log('--since', '1h')).toEqual(await log())
    expect(await log('--since', '2999-01-01T00:00Z')).toEqual([])
    const all = await log()
    expect(printedJson<Json[]>(await server().command('log', '--json', '--limit', '2'))).toEqual(
      all.slice(-2),
    )
    for (const [name, value] of [
      ['--since', 'yesterday'],
      ['--limit', 'many'],
    ] as const)
      expectRefusal(await server().command('log', name, value), 2)
    expect(await log('--user', newAddress())).toEqual([])
  })

  test('still names people who are gone', async () => {
    const admin = await administrator(server())
    const person = await someone(server())
    await person.api.folder('Mine')
    ok(await admin.api.delete(`/users/${person.email}`), 200)
    const entries = await log('--user', person.email)
    expect(entries.map(({ actor, action }) => `${String(actor)} ${String(action)}`)).toEqual([
      'command line user.create',
      'command line token.create',
      `${person.email} folder.create`,
      `${admin.email} user.delete`,
    ])
    const text = (await server().command('log', '--user', person.email)).stdout
    expect(text.trimEnd().split('\n')).toHaveLength(4)
    expect(text).toContain(person.email)
  })

  test('is followed as things happen', async () => {
    const person = await someone(server())
    const database = server().databaseUrl === undefined ? [] : ['--database', String(server().databaseUrl)]
    const args = [
      'log',
      '--follow',
      '--json',
      '--limit',
      '1',
      '--user',
      person.email,
      '--data',
      server().dataDir,
    ]
    const child = spawn(process.execPath, [PROGRAM, ...args, ...database], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
    const lines: string[] = []
    let text = ''
    const reached = (count: number): Promise<void> =>
      new Promise((resolve) => {
        const look = (): void => (lines.length >= count ? resolve() : undefined)
        child.stdout.on('data', look)
        look()
      })
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      const parts = text.split('\n')
      text = parts.pop() ?? ''
      lines.push(...parts)
    })
    try {
      await reached(1)
      await person.api.folder('While it follows')
      await reached(2)
      expect((JSON.parse(lines[1] ?? '') as Json)['action']).toBe('folder.create')
    } finally {
      child.kill('SIGTERM')
    }
    expect(await ended).toBe(0)
  })
})
