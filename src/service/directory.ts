/** People of an external directory, by LDAP. */
import type { Client, Entry } from 'ldapts'
import { Failure } from '../model/failures.js'
import { personName } from '../model/people.js'
import { randomHex } from '../model/secrets.js'
import type { Directory, DirectoryEntry } from './deps.js'

const CONNECT_MAX_MS = 5_000
const ANSWER_MAX_MS = 5_000
const QUESTIONS_MAX = 20
/** Two are enough to see that an address does not name one person. */
const ENTRIES_MAX = 2
const NOBODY_BYTES = 16

export interface LdapSettings {
  /** Protocol, host and port. */
  readonly url: string
  readonly base: string
  readonly bindDn: string | undefined
  readonly bindPassword: string | undefined
  /** Every `{email}` in it becomes the address, escaped. */
  readonly filter: string
  /** The certificates to trust (PEM) in place of the well-known ones. */
  readonly ca: string | undefined
  /** Encrypts a connection that begins in the clear. */
  readonly startTls: boolean
}

export function ldapDirectory(
  settings: LdapSettings,
  complain: (message: string, error: unknown) => void,
): Directory {
  let asked = 0

  /** Each question has a connection of its own: nobody ever finds one that is bound as another person. */
  async function ask<T>(question: (client: Client) => Promise<T>): Promise<T> {
    const { Client } = await import('ldapts')
    if (asked >= QUESTIONS_MAX) throw away('the directory is asked too much at this moment')
    asked += 1
    const tlsOptions = settings.ca === undefined ? {} : { ca: settings.ca }
    const client = new Client({
      url: settings.url,
      connectTimeout: CONNECT_MAX_MS,
      timeout: ANSWER_MAX_MS,
      ...(settings.url.startsWith('ldaps:') ? { tlsOptions } : {}),
    })
    try {
      if (settings.startTls) await client.startTLS(tlsOptions)
      return await question(client)
    } catch (error) {
      if (error instanceof Failure) throw error
      complain('the directory cannot be asked', error)
      throw away('the directory cannot be reached')
    } finally {
      asked -= 1
      await client.unbind().catch(() => undefined)
    }
  }

  async function findEntry(email: string): Promise<Entry | undefined> {
    return ask(async (client) => {
      if (settings.bindDn !== undefined) await client.bind(settings.bindDn, settings.bindPassword)
      const { searchEntries } = await client.search(settings.base, {
        scope: 'sub',
        filter: settings.filter.replaceAll('{email}', escapeFilter(email)),
        attributes: ['givenName', 'sn'],
        sizeLimit: ENTRIES_MAX,
      })
      if (searchEntries.length > 1) throw new Error(`the directory knows ${email} more than once`)
      return searchEntries[0]
    })
  }

  async function binds(dn: string, password: string): Promise<boolean> {
    const { InvalidCredentialsError } = await import('ldapts')
    return ask(async (client) => {
      try {
        await client.bind(dn, password)
        return true
      } catch (error) {
        if (error instanceof InvalidCredentialsError) return false
        throw error
      }
    })
  }

  /** As much work as for somebody who is there; whatever the directory says to it, it has answered. */
  async function bindNobody(): Promise<void> {
    const { ResultCodeError } = await import('ldapts')
    await ask(async (client) => {
      try {
        await client.bind(`cn=${randomHex(NOBODY_BYTES)},${settings.base}`, randomHex(NOBODY_BYTES))
      } catch (error) {
        if (!(error instanceof ResultCodeError)) throw error
      }
    })
  }

  return {
    async find(email) {
      const entry = await findEntry(email)
      return entry === undefined ? undefined : namesOf(entry)
    },

    async verify(email, password) {
      // A bind without a password is an anonymous one, and directories say yes to that.
      if (password === '') return undefined
      const entry = await findEntry(email)
      if (entry !== undefined) return (await binds(entry.dn, password)) ? namesOf(entry) : undefined
      await bindNobody()
      return undefined
    },

    async pretend(email) {
      await findEntry(email)
      await bindNobody()
    },
  }
}

/** As RFC 4515 wants it: what would mean something in a filter is written as its code. */
export function escapeFilter(text: string): string {
  return text.replaceAll(
    /[\\*()\0]/g,
    (character) => `\\${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )
}

function away(message: string): Failure {
  return new Failure('unavailable', message)
}

function namesOf(entry: Entry): DirectoryEntry {
  return { firstName: nameOf(entry, 'givenName'), lastName: nameOf(entry, 'sn') }
}

/** A name that an account could not have counts as none. */
function nameOf(entry: Entry, attribute: string): string | undefined {
  const value = entry[attribute]
  const first = Array.isArray(value) ? value[0] : value
  try {
    return typeof first === 'string' ? personName(first, attribute) : undefined
  } catch {
    return undefined
  }
}
