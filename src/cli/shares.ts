import type { Command } from 'commander'
import { Failure } from '../model/failures.js'
import { permissionNames } from '../model/permissions.js'
import { loadSharesForOperator, type SharedFolder } from '../service/shares.js'
import { withInstallation } from './context.js'
import { leaf } from './leaf.js'
import { print } from './output.js'

export function addShareCommands(program: Command): void {
  const share = program.command('share').description('the shared folders of the installation')

  leaf(share, 'list', 'the shared folders by name').action(async (_: unknown, command: Command) => {
    await withInstallation(command, async (context) => {
      const found = await context.read((tx) => loadSharesForOperator(tx))
      print(context.isJson, found.map(shownShare), () =>
        found.map(
          ({ sid, name, members, groups, pending }) =>
            `${sid}\t${name}\t${members.length} members, ${groups.length} groups, ${pending.length} invited`,
        ),
      )
    })
  })

  leaf(share, 'show <share-id>', 'a shared folder with its people and groups').action(
    async (sid: string, _: unknown, command: Command) => {
      await withInstallation(command, async (context) => {
        const [found] = await context.read((tx) => loadSharesForOperator(tx, sid))
        if (found === undefined) throw new Failure('notFound', `there is no shared folder ${sid}`)
        print(context.isJson, shownShare(found), () => linesOf(found))
      })
    },
  )
}

/** The object of the API as somebody sees it who is not in the share. */
function shownShare(share: SharedFolder): object {
  return {
    id: share.sid,
    name: share.name,
    members: share.members.map(({ email, first_name, last_name, direct }) => ({
      email,
      first_name,
      last_name,
      permissions: permissionNames(direct),
    })),
    groups: share.groups.map(({ group_id, name, permissions }) => ({
      id: group_id,
      name,
      permissions: permissionNames(permissions),
    })),
    pending: share.pending.map(({ email, first_name, last_name, invited_by, permissions }) => ({
      email,
      ...(first_name === null || last_name === null ? {} : { first_name, last_name }),
      invited_by,
      permissions: permissionNames(permissions),
    })),
    is_external: share.isExternal,
    external: share.isExternal,
    caller_effective_permissions: permissionNames(share.permissions),
  }
}

function linesOf({ sid, name, members, groups, pending }: SharedFolder): string[] {
  return [
    `${sid}\t${name}`,
    ...members.map(({ email, direct }) => `member\t${email}\t${words(direct)}`),
    ...groups.map((group) => `group\t${group.group_id} ${group.name}\t${words(group.permissions)}`),
    ...pending.map(
      ({ email, permissions, invited_by }) => `invited\t${email}\t${words(permissions)}\tby ${invited_by}`,
    ),
  ]
}

function words(permissions: number): string {
  return permissionNames(permissions).join(' ') || 'reads'
}
