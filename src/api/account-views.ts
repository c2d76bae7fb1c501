/** The resources of accounts as JSON, keys in the order of the documentation. */
import { minuteTime } from '../model/times.js'
import type { PersonRow } from '../service/accounts.js'
import type { DeviceStatus } from '../service/devices.js'
import type { DeviceRow } from '../gate/grants.js'
import type { InviteeRow } from '../service/invitees.js'
import type { Quota } from '../service/quotas.js'

/** `own` is what only the person and an admin see: the JSON texts of two lists. */
export function userJson(person: PersonRow, own?: { shares: string; invitations: string }): string {
  const plain = JSON.stringify({
    email: person.email,
    first_name: person.first_name,
    last_name: person.last_name,
  })
  if (own === undefined) return plain
  return `${plain.slice(0, -1)},"shares":${own.shares},"invitations":${own.invitations}}`
}

export function pageJson(page: { hasMore: boolean; data: readonly PersonRow[] }): string {
  return `{"has_more":${page.hasMore},"data":[${page.data.map((person) => userJson(person)).join(',')}]}`
}

/** Clients read either key. */
export function twoFactorJson(isOn: boolean): string {
  return JSON.stringify({ enforced: isOn, enforce: isOn })
}

export function inviteeJson(invitee: InviteeRow): string {
  return JSON.stringify({
    email_to: invitee.email,
    email_from: invitee.email_from,
    ...(invitee.code === null ? {} : { signup_code: invitee.code }),
  })
}

/** `asker` stands in as the owner of a node, which belongs to nobody in particular. */
export function deviceJson(device: DeviceRow, asker: string): string {
  const isNode = device.kind === 'node'
  return JSON.stringify({
    id: device.id,
    owner: isNode ? asker : device.owner,
    name: device.name === '' ? `Node ${device.id.slice(0, 8)}` : device.name,
    os_family: isNode ? 'Starling Node' : 'API Client',
    install_date: minuteTime(device.created_ms),
  })
}

export function deviceStatusJson({ isOnline, seenMs }: DeviceStatus): string {
  return JSON.stringify({
    online: isOnline,
    ...(seenMs === undefined ? {} : { last_seen: minuteTime(seenMs) }),
  })
}

export function quotaJson({ usedBytes, allowedBytes }: Quota): string {
  return JSON.stringify({
    bytes_used: usedBytes,
    ...(allowedBytes === undefined ? {} : { bytes_allowed: allowedBytes }),
  })
}
