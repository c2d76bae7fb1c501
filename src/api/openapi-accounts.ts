/** The resources of accounts as the documentation shows them. */
import { V1_1, V1_2, V1_3, within, type Version } from '../model/version.js'
import type { Schema } from './fields.js'
import { object, schemaReference, type ResourceDoc } from './openapi-schemas.js'
import type { AccountResource } from './resources.js'

const TEXT: Schema = { type: 'string' }
const ADDRESS: Schema = { type: 'string', maxLength: 320, description: 'E-mail address, in lower case.' }
const NAME: Schema = { type: 'string', minLength: 1, maxLength: 255 }
const TIME: Schema = { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\dZ$' }
const BYTES: Schema = { type: 'integer', format: 'int64' }

const PERSON = { email: 'ann@x.test', first_name: 'Ann', last_name: 'Avery' }
const DEVICE = {
  id: '4f1bce7790a24c58b3d10e6f92a8c7d5',
  owner: 'ann@x.test',
  name: 'Laptop',
  os_family: 'API Client',
  install_date: '2024-05-17T09:30Z',
}

/** Those of the version; the rows that carry them begin with it. */
export function accountResources(version: Version): Readonly<Partial<Record<AccountResource, ResourceDoc>>> {
  return {
    ...(within(version, V1_1) ? userResources() : {}),
    ...(within(version, V1_2) ? { Quota: QUOTA } : {}),
    ...(within(version, V1_3) ? newerResources(version) : {}),
  }
}

function userResources(): Partial<Record<AccountResource, ResourceDoc>> {
  return {
    User: {
      schema: object(
        {
          email: ADDRESS,
          first_name: TEXT,
          last_name: TEXT,
          shares: {
            type: 'array',
            items: { type: 'object' },
            description:
              'The shared folders that the person is in. Sent to the person and to an administrator alone; empty without the scope acl.read.',
          },
          invitations: {
            type: 'array',
            items: { type: 'object' },
            description:
              'The invitations that the person has not answered. Sent to the person and to an administrator alone; empty without the scope acl.invitations.',
          },
        },
        ['email', 'first_name', 'last_name'],
      ),
      example: { ...PERSON, shares: [], invitations: [] },
    },
    NewUser: {
      schema: object({ email: ADDRESS, first_name: NAME, last_name: NAME }, [
        'email',
        'first_name',
        'last_name',
      ]),
      example: PERSON,
    },
    UserNames: {
      schema: {
        ...object({ first_name: NAME, last_name: NAME }, []),
        anyOf: [{ required: ['first_name'] }, { required: ['last_name'] }],
      },
      example: { first_name: 'Anne' },
    },
    Password: {
      schema: { type: 'string', description: 'The password, exactly as it is.' },
      example: 'correct horse battery staple',
    },
  }
}

const QUOTA: ResourceDoc = {
  schema: object(
    {
      bytes_used: {
        ...BYTES,
        description: 'What the root of the person holds, and every shared folder that the person is in.',
      },
      bytes_allowed: { ...BYTES, description: 'Missing when there is no quota.' },
    },
    ['bytes_used'],
  ),
  example: { bytes_used: 1048576, bytes_allowed: 1073741824 },
}

function newerResources(version: Version): Partial<Record<AccountResource, ResourceDoc>> {
  return {
    UserPage: {
      schema: object(
        {
          has_more: { type: 'boolean', description: 'More people follow in the direction of paging.' },
          data: { type: 'array', items: schemaReference('User', version), description: 'By address.' },
        },
        ['has_more', 'data'],
      ),
      example: { has_more: false, data: [PERSON] },
    },
    TwoFactor: {
      schema: object(
        {
          enforced: { type: 'boolean', description: 'Whether sign-in asks for a second factor.' },
          enforce: { type: 'boolean', description: 'The same.' },
        },
        ['enforced', 'enforce'],
      ),
      example: { enforced: false, enforce: false },
    },
    Invitee: {
      schema: object(
        {
          email_to: ADDRESS,
          email_from: { ...ADDRESS, description: 'Who invited.' },
          signup_code: {
            type: 'string',
            description: 'Works once; missing for an address that an external directory signs in.',
          },
        },
        ['email_to', 'email_from'],
      ),
      example: {
        email_to: 'zoe@x.test',
        email_from: 'ann@x.test',
        signup_code: '5d0c7be14fa9426c8ad2e16f03b7a94c',
      },
    },
    NewInvitee: { schema: object({ email_to: ADDRESS }, ['email_to']), example: { email_to: 'zoe@x.test' } },
    ...deviceResources(version),
  }
}

function deviceResources(version: Version): Partial<Record<AccountResource, ResourceDoc>> {
  return {
    Device: {
      schema: object(
        {
          id: { type: 'string', pattern: '^[0-9a-f]{32}$' },
          owner: ADDRESS,
          name: { type: 'string', description: "The application's name until somebody gives another." },
          os_family: TEXT,
          install_date: { ...TIME, description: 'When the access token was issued.' },
        },
        ['id', 'owner', 'name', 'os_family', 'install_date'],
      ),
      example: DEVICE,
    },
    DeviceList: {
      schema: { type: 'array', items: schemaReference('Device', version) },
      example: [DEVICE],
    },
    DeviceName: { schema: object({ name: NAME }, ['name']), example: { name: 'Laptop' } },
    DeviceStatus: {
      schema: object(
        {
          online: { type: 'boolean', description: 'Used within the last five minutes.' },
          last_seen: { ...TIME, description: 'Missing when it was never used.' },
        },
        ['online'],
      ),
      example: { online: true, last_seen: '2024-05-17T09:30Z' },
    },
  }
}
