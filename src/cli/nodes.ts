import type { Command } from 'commander'
import {
  deselect,
  findMember,
  findNode,
  listDeselections,
  listMembers,
  removeMember,
  select,
  setCapacity,
  type MemberRow,
  type NodeRow,
} from '../db/nodes.js'
import { findObject, insideOf } from '../db/objects.js'
import { sumReplica } from '../db/replicas.js'
import { sumStagedBytes } from '../db/uploads.js'
import type { Tx } from '../db/db.js'
import { Failure } from '../model/failures.js'
import { formatId, parseId } from '../model/ids.js'
import { COMMAND_LINE, record } from '../service/journal.js'
import { wholeNumber } from './arguments.js'
import { withInstallation, type Context } from './context.js'
import { leaf } from './leaf.js'
import { print } from './output.js'
import { UsageError } from './settings.js'

export function addNodeCommands(program: Command): void {
  const node = program.command('node').description('this node and what it holds')

  leaf(node, 'show', 'id, capacity, use, local copy and deselected folders').action(
    async (_: unknown, command: Command) => {
      await withInstallation(command, async (context) => {
        const shown = await context.read((tx) => facts(tx, context))
        print(context.isJson, shown, () => [
          `id          ${shown.id}`,
          `capacity    ${shown.capacity ?? 'the disk'}`,
          `used        ${shown.used}`,
          ...replicaLines(shown.replica),
          ...shown.deselected.map((id) => `deselected  ${id}`),
        ])
      })
    },
  )

  leaf(node, 'list', 'all nodes of the installation').action(async (_: unknown, command: Command) => {
    await withInstallation(command, async (context) => {
      const members = (await context.read(listMembers)).map((row) => memberFacts(row, context.deps.now()))
      print(context.isJson, members, () =>
        members.map(({ id, state, name, address }) => [id, state.padEnd(7), name, address].join('  ')),
      )
    })
  })

  leaf(node, 'remove <node-id>', 'forget a node that is gone for good, with its uploads in progress').action(
    async (id: string, _: unknown, command: Command) => {
      await withInstallation(command, async (context) => {
        await context.write(async (tx) => {
          const { nodeId } = context.installation
          const member = await findMember(tx, id)
          if (member === undefined) throw new Failure('notFound', `there is no node ${id}`)
          if (id === nodeId) throw new Failure('conflict', 'a node cannot remove itself')
          if (stateOf(member, context.deps.now()) === 'alive')
            throw new Failure('conflict', `the node ${id} is alive`)
          await removeMember(tx, id, nodeId)
          await note(tx, context, 'node.remove', id)
        })
        print(context.isJson, { removed: id }, () => [`removed ${id}`])
      })
    },
  )

  leaf(node, 'deselect <folder-id>', 'stop holding the content of a folder here').action(
    async (id: string, _: unknown, command: Command) => {
      await withInstallation(command, async (context) => {
        await context.write(async (tx) => {
          const folder = await findFolder(tx, id)
          await deselect(tx, context.installation.nodeId, folder.sid, folder.oid)
          await note(tx, context, 'node.deselect', formatId(folder.sid, folder.oid))
        })
        print(context.isJson, { deselected: id }, () => [`deselected ${id}`])
      })
    },
  )

  leaf(node, 'select <folder-id>', 'hold the content of a folder here again').action(
    async (id: string, _: unknown, command: Command) => {
      await withInstallation(command, async (context) => {
        await context.write(async (tx) => {
          const folder = await findFolder(tx, id)
          await select(tx, context.installation.nodeId, folder.sid, folder.oid)
          await note(tx, context, 'node.select', formatId(folder.sid, folder.oid))
        })
        print(context.isJson, { selected: id }, () => [`selected ${id}`])
      })
    },
  )

  leaf(node, 'capacity <bytes|none>', 'how many bytes of content this node may hold').action(
    async (wish: string, _: unknown, command: Command) => {
      const bytes = wish === 'none' ? null : wholeNumber(wish, 'bytes')
      await withInstallation(command, async (context) => {
        await context.write(async (tx) => {
          await setCapacity(tx, context.installation.nodeId, bytes)
          await note(tx, context, 'node.capacity', context.installation.nodeId, { bytes })
        })
        print(context.isJson, { capacity: wish === 'none' ? 'none' : bytes }, () => [
          `the capacity is ${wish}`,
        ])
      })
    },
  )
}

type MemberState = 'alive' | 'gone' | 'stopped'

/** A node that stopped in order says so; one that only fell silent is gone. */
function stateOf(row: MemberRow, nowMs: number): MemberState {
  if (row.alive_until_ms > nowMs) return 'alive'
  return row.alive_until_ms === 0 ? 'stopped' : 'gone'
}

function memberFacts(
  row: MemberRow,
  nowMs: number,
): { id: string; state: MemberState; name: string; address: string; capacity?: number; started?: string } {
  return {
    id: row.id,
    state: stateOf(row, nowMs),
    name: row.name,
    address: row.address,
    ...(row.capacity === null ? {} : { capacity: row.capacity }),
    ...(row.started_ms === null ? {} : { started: new Date(row.started_ms).toISOString() }),
  }
}

async function facts(
  tx: Tx,
  context: Context,
): Promise<{
  id: string
  capacity: number | null
  used: number
  deselected: string[]
  replica?: ReplicaFacts
}> {
  const { nodeId } = context.installation
  const row = await findNode(tx, nodeId)
  const isReplica = row?.replica === 1
  const deselected = await listDeselections(tx, nodeId)
  return {
    id: nodeId,
    capacity: row?.capacity ?? null,
    used: ((isReplica ? row.held : row?.used) ?? 0) + (await sumStagedBytes(tx, nodeId)),
    deselected: deselected.map((folder) => formatId(folder.sid, folder.oid)),
    ...(isReplica ? { replica: await replicaFacts(tx, row) } : {}),
  }
}

/** How far the node's own copy of content is. */
interface ReplicaFacts {
  held: number
  held_bytes: number
  missing: number
  missing_bytes: number
  failed: number
  /** Since when the content store is away. */
  waiting_since?: string
}

async function replicaFacts(tx: Tx, { id, stalled_ms: stalledMs }: NodeRow): Promise<ReplicaFacts> {
  const sums = await sumReplica(tx, id)
  return {
    held: sums.held_count,
    held_bytes: sums.held_bytes,
    missing: sums.missing_count,
    missing_bytes: sums.missing_bytes,
    failed: sums.failed_count,
    ...(stalledMs === null ? {} : { waiting_since: new Date(stalledMs).toISOString() }),
  }
}

function replicaLines(replica: ReplicaFacts | undefined): string[] {
  if (replica === undefined) return []
  return [
    `held        ${replica.held} contents, ${replica.held_bytes} bytes`,
    `missing     ${replica.missing} contents, ${replica.missing_bytes} bytes`,
    `failed      ${replica.failed} contents`,
    ...(replica.waiting_since === undefined
      ? []
      : [`waiting     for the content store since ${replica.waiting_since}`]),
  ]
}

async function findFolder(tx: Tx, text: string): Promise<{ sid: string; oid: string }> {
  const id = parseId(text)
  if (id === undefined || 'alias' in id) throw new UsageError(`${text} is no identifier of a folder`)
  const object = await findObject(tx, id.sid, id.oid)
  if (object === undefined || object.kind === 'file')
    throw new Failure('notFound', `there is no folder ${text}`)
  return insideOf(object)
}

function note(tx: Tx, context: Context, action: string, subject: string, after?: unknown): Promise<void> {
  return record(tx, COMMAND_LINE, { atMs: context.deps.now(), action, subject, after })
}
