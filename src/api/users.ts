import type { Caller } from '../gate/caller.js'
import type { Tx } from '../gate/grants.js'
import { parseQuery } from '../http/query.js'
import { parsePageWish } from '../model/pages.js'
import { V1_1, V1_3 } from '../model/version.js'
import type { UserRow } from '../service/accounts.js'
import { pageJson, userJson } from './account-views.js'
import { newNames, newPerson, pathPerson, type Names, type NewPerson } from './inputs-people.js'
import { locationOf } from './locations.js'
import { route, type Route } from './route.js'
import { invitationsJson, sharesJson } from './share-views.js'

/** A user as the person or an admin sees one. */
async function fullUserJson(tx: Tx, caller: Caller, person: UserRow): Promise<string> {
  return userJson(person, {
    shares: await sharesJson(tx, caller, person.id),
    invitations: await invitationsJson(tx, caller, person.email),
  })
}

/** What the directory says of the address, once it was asked. */
interface NewPersonInput extends Partial<NewPerson> {
  readonly isExternal?: boolean
}

const listUsers = route({
  method: 'GET',
  path: '/users',
  since: V1_3,
  access: 'token',
  rule: {
    effect: 'read',
    needs: { caller: { right: 'caller', scopes: ['user.read'] } },
    input({ exchange }) {
      const query = parseQuery(exchange.rawQuery)
      return parsePageWish({
        limit: query.all('limit'),
        after: query.all('after'),
        before: query.all('before'),
      })
    },
  },
  doc: {
    summary: 'List the users',
    tag: 'Users',
    success: { 200: 'A page of users, ascending by address, with their names alone.' },
    returns: 'UserPage',
    query: {
      limit: 'Largest number of users, 20 unless given; 0 means all.',
      after: 'The page begins after this address, which need not exist.',
      before: 'The page ends before this address. Without after: the last users before it.',
    },
    failures: [400, 401, 403],
  },
  handle: async (call, { tx, input, grants }) => ({
    status: 200,
    json: pageJson(await call.api.accounts.page(tx, grants.caller, input)),
  }),
})

const readUser = route({
  method: 'GET',
  path: '/users/:email',
  since: V1_1,
  access: 'token',
  rule: {
    effect: 'read',
    needs: { user: { right: 'person', scopes: ['user.read'], from: 'email', others: 'seen' } },
    input: pathPerson,
  },
  doc: {
    summary: 'Read a user',
    tag: 'Users',
    success: { 200: 'The user; shares and invitations for the user and an administrator alone.' },
    returns: 'User',
    failures: [400, 401, 403, 404],
  },
  async handle(_, { tx, caller, grants }) {
    const { person, isSelf } = grants.user
    const isFull = isSelf || caller.isAdmin
    return { status: 200, json: isFull ? await fullUserJson(tx, caller, person) : userJson(person) }
  },
})

const createUser = route({
  method: 'POST',
  path: '/users',
  since: V1_1,
  access: 'token',
  rule: {
    effect: 'write',
    needs: { caller: { right: 'caller', scopes: ['user.write', 'organization.admin'] } },
    input: (): NewPersonInput => ({}),
    body: (json): NewPersonInput => newPerson(json),
  },
  doc: {
    summary: 'Make a user',
    tag: 'Users',
    success: { 201: 'The new user, its address in Location. Nobody signs in until a password is set.' },
    returns: 'User',
    accepts: 'NewUser',
    sends: { 201: ['Location'] },
    failures: [400, 401, 403, 409, 415, 503],
    notes: {
      409: [{ means: 'The address is a user already.', message: 'ann@x.test is a user already' }],
      503: [
        { means: 'The directory of people cannot be reached.', message: 'the directory cannot be reached' },
      ],
    },
  },
  async prepare(call, input) {
    const entry = await call.api.service.directory?.find(input.email ?? '')
    if (entry === undefined) return input
    const { firstName = input.firstName, lastName = input.lastName } = entry
    return {
      ...input,
      isExternal: true,
      ...(firstName === undefined ? {} : { firstName }),
      ...(lastName === undefined ? {} : { lastName }),
    }
  },
  async handle(call, { tx, caller, input, grants }) {
    const { email = '', firstName = '', lastName = '', isExternal = false } = input
    const user = await call.api.accounts.create(tx, grants.caller, { email, firstName, lastName, isExternal })
    return {
      status: 201,
      json: await fullUserJson(tx, caller, user),
      headers: { Location: locationOf(call, 'users', user.email) },
    }
  },
})

const renameUser = route({
  method: 'PUT',
  path: '/users/:email',
  since: V1_1,
  access: 'token',
  rule: {
    effect: 'write',
    needs: { user: { right: 'person', scopes: ['user.write'], from: 'email', others: 'refused' } },
    input: (incoming): ReturnType<typeof pathPerson> & Names => pathPerson(incoming),
    body: (json, input) => ({ ...input, ...newNames(json) }),
  },
  doc: {
    summary: 'Change the name of a user',
    tag: 'Users',
    success: { 200: 'The user as it is now.' },
    returns: 'User',
    accepts: 'UserNames',
    failures: [400, 401, 403, 404, 415],
  },
  async handle(call, { tx, caller, input, grants }) {
    const user = await call.api.accounts.rename(tx, grants.user, input)
    return { status: 200, json: await fullUserJson(tx, caller, user) }
  },
})

const deleteUser = route({
  method: 'DELETE',
  path: '/users/:email',
  since: V1_1,
  access: 'token',
  rule: {
    effect: 'write',
    needs: {
      user: {
        right: 'person',
        scopes: ['user.write', 'organization.admin'],
        from: 'email',
        others: 'refused',
      },
    },
    input: pathPerson,
  },
  doc: {
    summary: 'Delete a user with everything that is theirs alone',
    tag: 'Users',
    success: { 200: 'Deleted. The body is empty.' },
    failures: [400, 401, 403, 404, 409],
    notes: {
      409: [
        {
          means: 'The user is the last administrator, or a shared folder would be left without an owner.',
          message: 'the last admin of the organization cannot be deleted',
        },
      ],
    },
  },
  async handle(call, { tx, grants }) {
    await call.api.accounts.delete(tx, grants.user)
    return { status: 200 }
  },
})

export const USER_ROUTES: readonly Route[] = [listUsers, readUser, createUser, renameUser, deleteUser]
