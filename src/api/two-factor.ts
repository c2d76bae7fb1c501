import { V1_3 } from '../model/version.js'
import { twoFactorJson } from './account-views.js'
import { pathPerson } from './inputs-people.js'
import { route, type Route } from './route.js'

export const TWO_FACTOR_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/users/:email/two_factor',
    since: V1_3,
    access: 'token',
    rule: {
      effect: 'read',
      needs: { user: { right: 'person', scopes: ['user.read'], from: 'email', others: 'refused' } },
      input: pathPerson,
    },
    doc: {
      summary: 'Read whether sign-in asks a user for a second factor',
      tag: 'Two-factor authentication',
      success: { 200: 'The status.' },
      returns: 'TwoFactor',
      failures: [400, 401, 403, 404],
    },
    handle: (_, { grants }) =>
      Promise.resolve({ status: 200, json: twoFactorJson(grants.user.person.second_factor !== null) }),
  }),

  route({
    method: 'DELETE',
    path: '/users/:email/two_factor',
    since: V1_3,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { user: { right: 'person', scopes: ['user.password'], from: 'email', others: 'refused' } },
      input: pathPerson,
    },
    doc: {
      summary: 'Turn the second factor of a user off',
      tag: 'Two-factor authentication',
      success: { 204: 'Sign-in asks for the password alone.' },
      failures: [400, 401, 403, 404],
    },
    async handle(call, { tx, grants }) {
      await call.api.passwords.removeSecondFactor(tx, grants.user)
      return { status: 204 }
    },
  }),
]
