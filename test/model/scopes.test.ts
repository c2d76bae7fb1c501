import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseScopes, SCOPES } from '../../src/model/scopes.js'
import { V1_0, V1_3 } from '../../src/model/version.js'
import { refusal } from './refusal.js'

const SHARE = 'ab'.repeat(16)
const FOLDER = 'cd'.repeat(32)

const hex = (digits: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: digits, maxLength: digits })
const qualifier = fc.oneof(hex(32), hex(64))
const entry = fc.constantFrom(...SCOPES).chain((scope) =>
  scope.qualifiable
    ? fc.oneof(
        fc.constant(scope.name as string),
        qualifier.map((id) => `${scope.name}:${id}`),
      )
    : fc.constant(scope.name as string),
)
const separator = fc.constantFrom(',', ', ', ' ,', ' , ', ' ', '  ', '\t')

describe('SCOPES', () => {
  it('are eleven, of which two came with 1.3 and four can be qualified [VER-29]', () => {
    expect(SCOPES).toHaveLength(11)
    expect(SCOPES.filter((scope) => scope.since === V1_3).map((scope) => scope.name)).toEqual([
      'files.appdata',
      'groups.read',
    ])
    expect(SCOPES.every((scope) => scope.since === V1_0 || scope.since === V1_3)).toBe(true)
    const qualifiable = SCOPES.filter((scope) => scope.qualifiable).map((scope) => scope.name)
    expect(qualifiable).toEqual(['files.read', 'files.write', 'acl.read', 'acl.write'])
  })

  it('each have one plain sentence for the consent page', () => {
    for (const scope of SCOPES) expect(scope.sentence).toMatch(/^[A-Z][^.<>&]+\.$/)
  })
})

describe('parseScopes', () => {
  it('refuses unknown names, in any letter case [OAUTH-13]', () => {
    for (const text of ['files', 'Files.read', 'files.read,nope', 'files.*', ':', `:${SHARE}`, 'toString']) {
      expect(refusal(() => parseScopes(text))).toContain('unknown name')
    }
  })

  it('refuses empty elements [OAUTH-13]', () => {
    for (const text of [
      '',
      ' ',
      ',',
      ',user.read',
      'user.read,',
      'user.read,,acl.read',
      'user.read, ,acl.read',
    ]) {
      expect(
        refusal(() => parseScopes(text)),
        text,
      ).toContain('empty element')
    }
  })

  it('refuses a qualifier on a scope that takes none [OAUTH-13]', () => {
    for (const scope of SCOPES.filter((one) => !one.qualifiable)) {
      expect(refusal(() => parseScopes(`${scope.name}:${FOLDER}`))).toContain(scope.name)
      refusal(() => parseScopes(`${scope.name}:`))
    }
  })

  it('refuses a qualifier that is no identifier, an alias too [OAUTH-13]', () => {
    for (const id of [
      '',
      'root',
      'appdata',
      'bla',
      FOLDER.toUpperCase(),
      FOLDER.slice(1),
      `${FOLDER}:${FOLDER}`,
    ]) {
      refusal(() => parseScopes(`files.read:${id}`))
      refusal(() => parseScopes(`user.read,files.read:${id}`))
    }
  })

  it('takes commas and blanks, and answers with commas [OAUTH-18]', () => {
    expect(parseScopes(' user.read acl.read,files.read , files.write\tgroups.read ').text).toBe(
      'user.read,acl.read,files.read,files.write,groups.read',
    )
  })

  it('grants duplicates once, in the order of first mention [OAUTH-19]', () => {
    expect(parseScopes('acl.read,user.read,acl.read,user.read').text).toBe('acl.read,user.read')
    expect(parseScopes(`files.read:${SHARE},files.read:${SHARE}`).qualifiers('files.read')).toEqual([SHARE])
  })

  it('gives any list of valid entries back, each once, however it was separated [OAUTH-18] [OAUTH-19]', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(entry, separator), { minLength: 1, maxLength: 12 }), (pairs) => {
        const text = pairs.map(([one, between], index) => (index === 0 ? one : between + one)).join('')
        const list = parseScopes(text)
        expect(list.text).toBe([...new Set(pairs.map(([one]) => one))].join(','))
        expect(parseScopes(list.text)).toEqual(list)
      }),
    )
  })

  it('refuses any list with one bad element [OAUTH-13]', () => {
    const bad = fc.constantFrom(
      'nope',
      '',
      'user.read:',
      `user.read:${FOLDER}`,
      'files.read:root',
      'files.read:xyz',
    )
    fc.assert(
      fc.property(
        fc.array(entry, { maxLength: 5 }),
        bad,
        fc.array(entry, { maxLength: 5 }),
        (before, wrong, after) => {
          refusal(() => parseScopes([...before, wrong, ...after].join(',')))
        },
      ),
    )
  })
})

describe('ScopeList', () => {
  it('tells limited from unlimited scopes [AUTH-47]', () => {
    const list = parseScopes(`user.read,files.read:${SHARE},files.read:${FOLDER}`)
    expect([list.has('user.read'), list.any('user.read')]).toEqual([true, true])
    expect([list.has('files.read'), list.any('files.read')]).toEqual([false, true])
    expect([list.has('files.write'), list.any('files.write')]).toEqual([false, false])
    expect(list.qualifiers('files.read')).toEqual([SHARE, FOLDER])
    expect(list.qualifiers('files.write')).toEqual([])
    expect(list.entries.map((one) => [one.scope.name, one.qualifier])).toEqual([
      ['user.read', undefined],
      ['files.read', SHARE],
      ['files.read', FOLDER],
    ])
  })

  it('lets the unqualified entry win, in either order [AUTH-46]', () => {
    for (const text of [`files.read,files.read:${SHARE}`, `files.read:${SHARE},files.read`]) {
      const list = parseScopes(text)
      expect(list.has('files.read')).toBe(true)
      expect(list.qualifiers('files.read')).toEqual([])
    }
  })
})
