import { countUsers } from '../db/users.js'
import { randomHex } from '../model/secrets.js'
import { accounts, hashPassword } from '../service/accounts.js'
import { COMMAND_LINE } from '../service/journal.js'
import { tokens } from '../service/tokens.js'
import { commandDeps, openInstallation } from './installation.js'
import type { ServeSettings } from './settings.js'

const EMAIL = 'admin@localhost'
const PASSWORD_BYTES = 9

/** On an empty installation makes an admin, and says once what a newcomer needs. */
export async function welcome(settings: ServeSettings, origin: string): Promise<void> {
  const complain = (message: string): void => void process.stderr.write(`starling: ${message}\n`)
  const installation = await openInstallation(settings, complain)
  try {
    const deps = commandDeps(installation, complain)
    const password = randomHex(PASSWORD_BYTES)
    const passwordHash = await hashPassword(password, settings.passwordLengthMin)
    const token = await installation.db.write(async (tx) => {
      if ((await countUsers(tx)) > 0) return undefined
      await accounts(deps).add(tx, COMMAND_LINE, {
        email: EMAIL,
        firstName: 'First',
        lastName: 'Admin',
        isAdmin: true,
        passwordHash,
      })
      const scope = 'files.read,files.write'
      return tokens(deps).issue(tx, COMMAND_LINE, {
        email: EMAIL,
        scope,
        appId: undefined,
        lifetimeSeconds: undefined,
      })
    })
    if (token === undefined) return
    const cert = `${installation.dataDir}/tls/cert.pem`
    const trust = settings.behindProxy ? '' : `--cacert ${shellQuoted(settings.tls?.cert ?? cert)} `
    process.stdout.write(
      [
        '',
        'Welcome to Starling. This is shown once:',
        '',
        `  address    ${origin}`,
        `  sign-in    ${EMAIL}`,
        `  password   ${password}`,
        '',
        'A first call, with a token of this admin (paste it into another terminal):',
        '',
        `  curl ${trust}-H 'Authorization: Bearer ${token.access_token}' ${origin}/api/v1.3/folders/root`,
        '',
        `Your account and its pages are at ${origin}/account, the API is described at ${origin}/docs`,
        '',
        '',
      ].join('\n'),
    )
  } finally {
    await installation.close()
  }
}

function shellQuoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
