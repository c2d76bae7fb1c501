import { Failure } from './failures.js'
import { parseId } from './ids.js'
import { V1_0, V1_3, type Version } from './version.js'

export type ScopeName =
  | 'files.read'
  | 'files.write'
  | 'files.appdata'
  | 'user.read'
  | 'user.write'
  | 'user.password'
  | 'acl.read'
  | 'acl.write'
  | 'acl.invitations'
  | 'groups.read'
  | 'organization.admin'

export type Scope = {
  readonly name: ScopeName
  /** The first version in which the scope grants anything. */
  readonly since: Version
  /** Whether the scope may be limited to one object and what is below it: `files.read:<id>`. */
  readonly qualifiable: boolean
  /** What it permits, in the words of the API's own document; the pages have their own. */
  readonly sentence: string
}

export const SCOPES: readonly Scope[] = [
  scope('files.read', V1_0, true, 'See your folders and download your files.'),
  scope('files.write', V1_0, true, 'Create, upload, rename, move and delete your files and folders.'),
  scope('files.appdata', V1_3, false, 'Keep its own data in a folder of its own in your account.'),
  scope('user.read', V1_0, false, 'See names and e-mail addresses, yours and those of your colleagues.'),
  scope('user.write', V1_0, false, 'Change your name.'),
  scope('user.password', V1_0, false, 'Change or reset your password.'),
  scope('acl.read', V1_0, true, 'See your shared folders and who is in them.'),
  scope('acl.write', V1_0, true, 'Create shared folders and decide who is in them.'),
  scope('acl.invitations', V1_0, false, 'See, accept and ignore your invitations to shared folders.'),
  scope('groups.read', V1_3, false, 'See the groups of your organization.'),
  scope(
    'organization.admin',
    V1_0,
    false,
    'Manage the users, shared folders and content of your organization.',
  ),
]

export type ScopeEntry = {
  readonly scope: Scope
  /** The id after the colon; undefined for an unqualified entry. */
  readonly qualifier: string | undefined
  /** The entry as it stands in a list. */
  readonly text: string
}

/** What a token was asked for or granted. An unqualified entry wins over qualified ones of its name. */
export class ScopeList {
  /** In the order in which they were named, each once. */
  readonly entries: readonly ScopeEntry[]
  /** The comma list. */
  readonly text: string

  constructor(entries: readonly ScopeEntry[]) {
    this.entries = entries
    this.text = entries.map((entry) => entry.text).join(',')
  }

  /** Whether the scope is held without a qualifier. */
  has(name: ScopeName): boolean {
    return this.entries.some((entry) => entry.scope.name === name && entry.qualifier === undefined)
  }

  /** The ids the scope is limited to; none when it is held without limit or not at all. */
  qualifiers(name: ScopeName): string[] {
    if (this.has(name)) return []
    return this.entries.flatMap((entry) =>
      entry.scope.name === name && entry.qualifier !== undefined ? [entry.qualifier] : [],
    )
  }

  /** Whether the scope is held at all, limited or not. */
  any(name: ScopeName): boolean {
    return this.entries.some((entry) => entry.scope.name === name)
  }
}

/** A comma with or without blanks around it, or blanks alone, as common OAuth libraries join scopes. */
const SEPARATOR = /[ \t]*,[ \t]*|[ \t]+/

/** One bad element refuses the whole list. */
export function parseScopes(text: string): ScopeList {
  const entries = new Map<string, ScopeEntry>()
  for (const element of text.trim().split(SEPARATOR)) {
    if (!entries.has(element)) entries.set(element, parseEntry(element))
  }
  return new ScopeList([...entries.values()])
}

function parseEntry(text: string): ScopeEntry {
  if (text === '') throw new Failure('badArgs', 'scope has an empty element')
  const colon = text.indexOf(':')
  const name = colon < 0 ? text : text.slice(0, colon)
  const scope = SCOPES.find((known) => known.name === name)
  if (scope === undefined) throw new Failure('badArgs', `scope has the unknown name ${JSON.stringify(name)}`)
  if (colon < 0) return { scope, qualifier: undefined, text }
  if (!scope.qualifiable) throw new Failure('badArgs', `scope ${name} takes no identifier`)
  const qualifier = text.slice(colon + 1)
  const id = parseId(qualifier)
  // An alias means another object to every caller, so it cannot say what a token is limited to.
  if (id === undefined || 'alias' in id) {
    throw new Failure('badArgs', `scope ${name} must be limited by the identifier of a file or folder`)
  }
  return { scope, qualifier, text }
}

function scope(name: ScopeName, since: Version, qualifiable: boolean, sentence: string): Scope {
  return { name, since, qualifiable, sentence }
}
