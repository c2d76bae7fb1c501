import { Failure } from '../model/failures.js'
import type { PersonId } from '../model/addresses.js'
import { checkPassword } from '../model/people.js'
import { V1_1 } from '../model/version.js'
import { pathPerson } from './inputs-people.js'
import { route, type Route } from './route.js'

interface PasswordInput {
  readonly email: PersonId
  readonly password?: string
  readonly passwordHash?: string
}

const notManagedHere = {
  404: [
    {
      means: 'There is no such user, or its password is not managed here.',
      message: 'the password of ann@x.test is not managed here',
    },
  ],
}

const needs = {
  user: { right: 'person', scopes: ['user.password'], from: 'email', others: 'refused' },
} as const

export const PASSWORD_ROUTES: readonly Route[] = [
  route({
    method: 'PUT',
    path: '/users/:email/password',
    since: V1_1,
    access: 'token',
    rule: {
      effect: 'write',
      needs,
      input: (incoming): PasswordInput => pathPerson(incoming),
      body(json, input) {
        if (typeof json !== 'string') throw new Failure('badArgs', 'the password must be a JSON string')
        return { ...input, password: json }
      },
    },
    doc: {
      summary: 'Set the password of a user',
      tag: 'Passwords',
      success: { 200: 'Set; the web sessions of the user are over. The body is empty.' },
      accepts: 'Password',
      failures: [400, 401, 403, 404, 415],
      notes: notManagedHere,
    },
    judge: (call, { password }) => void checkPassword(password, call.api.service.passwordLengthMin),
    // The hash takes its time by design, and the clear text goes no further than this.
    async prepare(call, { email, password = '' }) {
      const { hashing, passwordLengthMin } = call.api.service
      return { email, passwordHash: await hashing.hash(password, passwordLengthMin) }
    },
    async handle(call, { tx, input, grants }) {
      const { passwordHash } = input
      if (passwordHash === undefined) throw new Error('the password was not hashed')
      await call.api.passwords.set(tx, grants.user, passwordHash)
      return { status: 200 }
    },
  }),

  route({
    method: 'DELETE',
    path: '/users/:email/password',
    since: V1_1,
    access: 'token',
    rule: { effect: 'write', needs, input: pathPerson },
    doc: {
      summary: 'Disable the password of a user',
      tag: 'Passwords',
      success: { 200: 'Nobody signs in as the user until a password is set again. The body is empty.' },
      failures: [400, 401, 403, 404],
      notes: notManagedHere,
    },
    async handle(call, { tx, grants }) {
      await call.api.passwords.disable(tx, grants.user)
      return { status: 200 }
    },
  }),
]
