import { personName } from '../model/people.js'
import { V1_3 } from '../model/version.js'
import { deviceJson, deviceStatusJson } from './account-views.js'
import { bodyObject, bodyValue, pathDevice, pathPerson } from './inputs-people.js'
import { route, type Route } from './route.js'

const readNeeds = { device: { right: 'device', scopes: ['user.read'], from: 'device' } } as const

export const DEVICE_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/users/:email/devices',
    since: V1_3,
    access: 'token',
    rule: {
      effect: 'read',
      needs: { user: { right: 'person', scopes: ['user.read'], from: 'email', others: 'hidden' } },
      input: pathPerson,
    },
    doc: {
      summary: 'List the devices of a user',
      tag: 'Devices',
      success: { 200: 'One for each live access token; for an administrator, their own with the nodes.' },
      returns: 'DeviceList',
      failures: [400, 401, 403, 404],
    },
    async handle(call, { tx, caller, grants }) {
      const devices = await call.api.devices.list(tx, grants.user)
      return {
        status: 200,
        json: `[${devices.map((device) => deviceJson(device, caller.email)).join(',')}]`,
      }
    },
  }),

  route({
    method: 'GET',
    path: '/devices/:device',
    since: V1_3,
    access: 'token',
    rule: { effect: 'read', needs: readNeeds, input: pathDevice },
    doc: {
      summary: 'Read a device',
      tag: 'Devices',
      success: { 200: 'The device.' },
      returns: 'Device',
      failures: [400, 401, 403, 404],
    },
    handle: (_, { caller, grants }) =>
      Promise.resolve({ status: 200, json: deviceJson(grants.device.device, caller.email) }),
  }),

  route({
    method: 'PUT',
    path: '/devices/:device',
    since: V1_3,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { device: { right: 'device', scopes: ['user.write'], from: 'device' } },
      input: (incoming): { device: string; name?: string } => pathDevice(incoming),
      body: (json, input) => ({ ...input, name: personName(bodyValue(bodyObject(json), 'name'), 'name') }),
    },
    doc: {
      summary: 'Name a device',
      tag: 'Devices',
      success: { 200: 'The device as it is now.' },
      returns: 'Device',
      accepts: 'DeviceName',
      failures: [400, 401, 403, 404, 415],
    },
    async handle(call, { tx, caller, input, grants }) {
      const device = await call.api.devices.rename(tx, grants.device, input.name ?? '')
      return { status: 200, json: deviceJson(device, caller.email) }
    },
  }),

  route({
    method: 'GET',
    path: '/devices/:device/status',
    since: V1_3,
    access: 'token',
    rule: { effect: 'read', needs: readNeeds, input: pathDevice },
    doc: {
      summary: 'Read when a device was last seen',
      tag: 'Devices',
      success: { 200: 'The status.' },
      returns: 'DeviceStatus',
      failures: [400, 401, 403, 404],
    },
    handle: (call, { grants }) =>
      Promise.resolve({ status: 200, json: deviceStatusJson(call.api.devices.status(grants.device)) }),
  }),
]
