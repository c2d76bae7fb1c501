import { V1_2 } from '../model/version.js'
import { quotaJson } from './account-views.js'
import { pathPerson } from './inputs-people.js'
import { route, type Route } from './route.js'

export const QUOTA_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/users/:email/quota',
    since: V1_2,
    access: 'token',
    rule: {
      effect: 'read',
      needs: { user: { right: 'person', scopes: ['user.read'], from: 'email', others: 'hidden' } },
      input: pathPerson,
    },
    doc: {
      summary: 'Read how much a user keeps and may keep',
      tag: 'Quota',
      success: { 200: 'Bytes used, and bytes allowed where there is a quota.' },
      returns: 'Quota',
      failures: [400, 401, 403, 404],
    },
    handle: async (call, { tx, grants }) => ({
      status: 200,
      json: quotaJson(await call.api.quotas.of(tx, grants.user)),
    }),
  }),
]
