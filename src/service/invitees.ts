import type { Tx } from '../db/db.js'
import { deleteInvitee, findInvitee, insertInvitee, listInvitees, type InviteeRow } from '../db/invitees.js'
import { findUserByEmail } from '../db/users.js'
import type { Caller } from '../gate/caller.js'
import type { CallerGrant } from '../gate/grants.js'
import { normalAddress } from '../model/addresses.js'
import { Failure } from '../model/failures.js'
import { randomHex } from '../model/secrets.js'
import type { ServiceDeps } from './deps.js'
import { record, type Actor } from './journal.js'
import { queueMail } from './mail.js'

export type { InviteeRow } from '../db/invitees.js'

const CODE_BYTES = 20

export interface NewInvitee {
  readonly emailTo: string
  readonly emailFrom: string
  /** An external directory signs the address in: a code is of no use. */
  readonly isExternal: boolean
}

export interface Invitees {
  /** 403 by policy, 409 when the address is a user or invited already. */
  invite(tx: Tx, grant: CallerGrant, wish: { emailTo: string; isExternal: boolean }): Promise<InviteeRow>
  /** The same for the command line, which no policy binds. */
  add(tx: Tx, actor: Actor, wish: NewInvitee): Promise<InviteeRow>
  find(tx: Tx, email: string): Promise<InviteeRow>
  remove(tx: Tx, actor: Actor, email: string): Promise<void>
  list(tx: Tx): Promise<(InviteeRow & { created_ms: number })[]>
}

export function invitees(deps: ServiceDeps): Invitees {
  const add: Invitees['add'] = async (tx, actor, wish) => {
    const email = normalAddress(wish.emailTo, 'email_to')
    await holdAddresses(tx)
    if ((await findUserByEmail(tx, email)) !== undefined) {
      throw new Failure('conflict', `${email} is a user already`)
    }
    const made = await makeInvitee(tx, deps, actor, { ...wish, emailTo: email })
    if (made === undefined) throw new Failure('conflict', `${email} is invited already`)
    return made
  }

  return {
    add,

    async invite(tx, { caller }, wish) {
      checkPolicy(deps, caller)
      return add(tx, caller, { ...wish, emailFrom: caller.email })
    },

    async find(tx, email) {
      const invitee = await findInvitee(tx, email)
      if (invitee === undefined) throw noSuchInvitee()
      return invitee
    },

    async remove(tx, actor, email) {
      if (!(await deleteInvitee(tx, email))) throw noSuchInvitee()
      await record(tx, actor, { atMs: deps.now(), action: 'invitee.delete', subject: email })
    },

    list: listInvitees,
  }
}

/**
 * For an address that is invited to something else: makes sure that a person without an account can get one. 403 by
 * policy; nothing happens when the address has an account or is invited already.
 */
export async function ensureInvitee(
  tx: Tx,
  deps: ServiceDeps,
  caller: Caller,
  emailTo: string,
): Promise<void> {
  if ((await findInvitee(tx, emailTo)) !== undefined) return
  checkPolicy(deps, caller)
  await holdAddresses(tx)
  if ((await findUserByEmail(tx, emailTo)) !== undefined) return
  await makeInvitee(tx, deps, caller, { emailTo, emailFrom: caller.email, isExternal: false })
}

/**
 * An address is a user, or invited, or neither. No row stands for the address itself, so those who change that take
 * turns at one that is always there.
 */
export function holdAddresses(tx: Tx): Promise<void> {
  return tx.lock('meta', 'epoch')
}

function checkPolicy(deps: ServiceDeps, caller: Caller): void {
  if (deps.signUpPolicy !== 'admin' || caller.isAdmin) return
  throw new Failure('forbidden', 'only an admin of the organization may invite people')
}

async function makeInvitee(
  tx: Tx,
  deps: ServiceDeps,
  actor: Actor,
  wish: NewInvitee,
): Promise<InviteeRow | undefined> {
  const nowMs = deps.now()
  const invitee: InviteeRow = {
    email: wish.emailTo,
    email_from: wish.emailFrom,
    code: wish.isExternal ? null : randomHex(CODE_BYTES),
  }
  if (!(await insertInvitee(tx, invitee, nowMs))) return undefined
  await record(tx, actor, {
    atMs: nowMs,
    action: 'invitee.create',
    subject: invitee.email,
    after: { from: invitee.email_from },
  })
  await queueMail(tx, inviteeMail(deps, invitee), nowMs)
  return invitee
}

function inviteeMail(deps: ServiceDeps, invitee: InviteeRow): { to: string; subject: string; body: string } {
  const from = invitee.email_from === '' ? 'An administrator' : invitee.email_from
  const where = deps.publicUrl === undefined ? 'Starling' : `Starling at ${deps.publicUrl}`
  const how =
    invitee.code === null
      ? ['Sign in with the address and the password that you use in your organization.']
      : [
          'Sign up with this code; it works once:',
          '',
          `    ${invitee.code}`,
          ...(deps.publicUrl === undefined ? [] : ['', `    ${deps.publicUrl}/sign-up?code=${invitee.code}`]),
        ]
  return {
    to: invitee.email,
    subject: 'You are invited to Starling',
    body: [`${from} invites you to ${where}.`, '', ...how, ''].join('\n'),
  }
}

function noSuchInvitee(): Failure {
  return new Failure('notFound', 'there is no such invitee')
}
