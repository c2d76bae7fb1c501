import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { listApps, type AppRow } from '../db/apps.js'
import { apps, type AppChanges } from '../service/apps.js'
import { COMMAND_LINE } from '../service/journal.js'
import { wholeNumber } from './arguments.js'
import { valuesOf, withInstallation, type Context } from './context.js'
import { addSettings, leaf } from './leaf.js'
import { print } from './output.js'
import { SERVE_SETTINGS, serveSettings, UsageError, type ServeSettings } from './settings.js'

const YEAR_SECONDS = 31_536_000

export function addAppCommands(program: Command): void {
  const app = program.command('app').description('applications that may ask for access')

  leaf(app, 'add <name>', 'register an application')
    .option('--redirect-uri <uri>', 'where the browser goes back to; may be repeated', collect, [])
    .option('--description <text>', 'what it is', '')
    .option('--public', 'it cannot keep a secret')
    .option('--token-lifetime <seconds>', 'life of its tokens, 0 for ever', String(YEAR_SECONDS))
    .action(async (name: string, options: Record<string, unknown>, command: Command) => {
      const redirectUris = options['redirectUri'] as string[]
      const tokenLifetimeSeconds = wholeNumber(String(options['tokenLifetime']), 'seconds')
      if (redirectUris.length === 0) throw new UsageError('an application needs a --redirect-uri')
      await withInstallation(command, async (context) => {
        const { app: made, secret } = await context.write((tx) =>
          apps(context.deps).add(tx, COMMAND_LINE, {
            name,
            description: String(options['description']),
            redirectUris,
            isPublic: options['public'] === true,
            tokenLifetimeSeconds,
          }),
        )
        const shown = {
          client_id: made.id,
          ...(secret === undefined ? {} : { client_secret: secret }),
          name: made.name,
          redirect_uris: redirectUris,
        }
        print(context.isJson, shown, () => [
          `client_id      ${made.id}`,
          ...(secret === undefined ? [] : [`client_secret  ${secret}`, 'The secret is shown this once.']),
        ])
      })
    })

  leaf(app, 'list', 'the applications by name').action(async (_: unknown, command: Command) => {
    await withInstallation(command, async (context) => {
      const rows = (await context.read(listApps)).map(shownApp)
      print(context.isJson, rows, () => rows.map((row) => `${row.client_id}\t${row.name}`))
    })
  })

  leaf(app, 'edit <client-id>', 'change an application')
    .option('--redirect-uri <uri>', 'in place of the ones before; may be repeated', collect, [])
    .option('--name <text>', 'its name')
    .option('--description <text>', 'what it is')
    .option('--token-lifetime <seconds>', 'life of its tokens, 0 for ever')
    .action(async (id: string, options: Record<string, unknown>, command: Command) => {
      const changes = changesOf(options)
      await withInstallation(command, async (context) => {
        const changed = await context.write((tx) => apps(context.deps).change(tx, COMMAND_LINE, id, changes))
        print(context.isJson, shownApp(changed), () => [`changed ${changed.id}`])
      })
    })

  leaf(app, 'secret <client-id>', 'make a new secret; the one before ends at once').action(
    async (id: string, _: unknown, command: Command) => {
      await withInstallation(command, async (context) => {
        const { secret } = await context.write((tx) => apps(context.deps).renewSecret(tx, COMMAND_LINE, id))
        if (secret === undefined) throw new UsageError('a public application has no secret')
        print(context.isJson, { client_id: id, client_secret: secret }, () => [
          `client_secret  ${secret}`,
          'The secret is shown this once.',
        ])
      })
    },
  )

  leaf(app, 'remove <client-id>', 'remove an application with its tokens').action(
    async (id: string, _: unknown, command: Command) => {
      await withInstallation(command, async (context) => {
        await context.write((tx) => apps(context.deps).remove(tx, COMMAND_LINE, id))
        print(context.isJson, { removed: id }, () => [`removed ${id}`])
      })
    },
  )

  const config = leaf(app, 'config <client-id>', 'print appconfig.json with a new secret')
  addSettings(
    config,
    SERVE_SETTINGS.filter(({ name }) => ['host', 'port', 'base-url', 'tls-cert', 'tls-key'].includes(name)),
  )
  config.action(async (id: string, _: unknown, command: Command) => {
    const settings = serveSettings(valuesOf(command))
    await withInstallation(command, async (context) => {
      const cert = await certificate(context, settings)
      const { secret } = await context.write((tx) => apps(context.deps).renewSecret(tx, COMMAND_LINE, id))
      const shown = {
        client_id: id,
        ...(secret === undefined ? {} : { client_secret: secret }),
        hostname: hostOf(settings),
        cert,
      }
      print(true, shown, () => [])
    })
  })
}

/** An application without its secret. */
function shownApp(row: AppRow): Record<string, unknown> & { client_id: string; name: string } {
  return {
    client_id: row.id,
    name: row.name,
    description: row.description,
    redirect_uris: JSON.parse(row.redirect_uris) as string[],
    public: row.is_public === 1,
    token_lifetime: row.token_lifetime_s,
  }
}

function changesOf(options: Record<string, unknown>): AppChanges {
  const { name, description, tokenLifetime } = options
  const redirectUris = options['redirectUri'] as string[]
  const changes: AppChanges = {
    ...(redirectUris.length === 0 ? {} : { redirectUris }),
    ...(typeof name === 'string' ? { name } : {}),
    ...(typeof description === 'string' ? { description } : {}),
    ...(typeof tokenLifetime === 'string'
      ? { tokenLifetimeSeconds: wholeNumber(tokenLifetime, 'seconds') }
      : {}),
  }
  if (Object.keys(changes).length === 0) throw new UsageError('say what to change')
  return changes
}

function collect(value: string, before: string[]): string[] {
  return [...before, value]
}

async function certificate(context: Context, settings: ServeSettings): Promise<string> {
  if (settings.tls !== undefined) return readFile(settings.tls.cert, 'utf8')
  const { ensureCertificate } = await import('../http/tls.js')
  return (await ensureCertificate(join(context.installation.dataDir, 'tls'), hostname())).cert
}

/** Without a scheme, and with the port when it is not the usual one. */
function hostOf(settings: ServeSettings): string {
  if (settings.baseUrl !== undefined) return new URL(settings.baseUrl).host
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host
  return settings.port === 443 ? host : `${host}:${settings.port}`
}
