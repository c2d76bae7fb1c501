import type { Command } from 'commander'
import type { Tx } from '../db/db.js'
import { operatorGroup } from '../gate/group-grants.js'
import type { GroupEntry, GroupGrant } from '../gate/grants.js'
import { normalAddress } from '../model/addresses.js'
import { checkGroupId, checkGroupName } from '../model/groups.js'
import { groups, listAllGroups, showGroup, type Group } from '../service/groups.js'
import { COMMAND_LINE } from '../service/journal.js'
import { withInstallation } from './context.js'
import { leaf } from './leaf.js'
import { print } from './output.js'

export function addGroupCommands(program: Command): void {
  const group = program.command('group').description('the groups of the organization')

  leaf(group, 'add <name>', 'make a group').action(async (name: string, _: unknown, command: Command) => {
    await withInstallation(command, async (context) => {
      const wanted = checkGroupName(name)
      const made = await context.write((tx) => groups(context.deps).create(tx, COMMAND_LINE, wanted))
      print(context.isJson, shownGroup(made), () => [`made the group ${made.id}\t${made.name}`])
    })
  })

  leaf(group, 'list', 'the groups by name').action(async (_: unknown, command: Command) => {
    await withInstallation(command, async (context) => {
      const found = await context.read(listAllGroups)
      print(context.isJson, found.map(shownGroup), () =>
        found.map(({ id, name, members }) => `${id}\t${name}\t${members.length}`),
      )
    })
  })

  leaf(group, 'remove <group-id>', 'remove a group, also from every shared folder').action(
    async (id: string, _: unknown, command: Command) => {
      await withInstallation(command, async (context) => {
        await context.write(async (tx) => groups(context.deps).remove(tx, await held(tx, id, 'none')))
        print(context.isJson, { removed: id }, () => [`removed ${id}`])
      })
    },
  )

  addMemberCommands(group.command('member').description('the people of a group'))
}

function addMemberCommands(member: Command): void {
  leaf(member, 'add <group-id> <email>', 'put a user into a group').action(
    async (id: string, email: string, _: unknown, command: Command) => {
      await withInstallation(command, async (context) => {
        const added = await context.write(async (tx) =>
          groups(context.deps).addMember(tx, await held(tx, id, 'newcomer', email)),
        )
        print(context.isJson, shownPerson(added), () => [`${added.email} is in the group ${id}`])
      })
    },
  )

  leaf(member, 'remove <group-id> <email>', 'take a user out of a group').action(
    async (id: string, email: string, _: unknown, command: Command) => {
      await withInstallation(command, async (context) => {
        await context.write(async (tx) =>
          groups(context.deps).removeMember(tx, await held(tx, id, 'member', email)),
        )
        print(context.isJson, { removed: normalAddress(email) }, () => [
          `${normalAddress(email)} is no longer in the group ${id}`,
        ])
      })
    },
  )

  leaf(member, 'list <group-id>', 'the people of a group by address').action(
    async (id: string, _: unknown, command: Command) => {
      await withInstallation(command, async (context) => {
        const { members } = await context.read(async (tx) => showGroup(tx, await seen(tx, id)))
        print(context.isJson, members.map(shownPerson), () =>
          members.map((person) => `${person.email}\t${person.first_name} ${person.last_name}`),
        )
      })
    },
  )
}

function held<E extends GroupEntry>(tx: Tx, id: string, entry: E, email?: string): Promise<GroupGrant<E>> {
  const named = email === undefined ? {} : { email: normalAddress(email) }
  return operatorGroup(tx, COMMAND_LINE, { to: 'change', id: groupId(id), entry, ...named })
}

function seen(tx: Tx, id: string): Promise<GroupGrant<'none'>> {
  return operatorGroup(tx, COMMAND_LINE, { to: 'read', id: groupId(id), entry: 'none' })
}

function groupId(text: string): string {
  return checkGroupId(text, 'the identifier of the group')
}

interface Person {
  readonly email: string
  readonly first_name: string
  readonly last_name: string
}

function shownPerson({ email, first_name, last_name }: Person): Person {
  return { email, first_name, last_name }
}

function shownGroup({ id, name, members }: Group): object {
  return { id, name, members: members.map(shownPerson) }
}
