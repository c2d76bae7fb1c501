import type { SessionGate } from '../gate/sessions.js'
import type { Exchange } from '../http/exchange.js'
import type { Profiles } from '../service/profiles.js'
import type { Apps } from '../service/apps.js'
import type { Authorizations } from '../service/authorizations.js'
import type { OwnTokens } from '../service/own-tokens.js'
import type { PasswordQueue } from '../service/password-queue.js'
import type { Resets } from '../service/resets.js'
import type { SecondFactor } from '../service/second-factor.js'
import type { Sessions } from '../service/sessions.js'
import type { SetUp } from '../service/set-up.js'
import type { SignIn } from '../service/sign-in.js'
import type { SignUps } from '../service/invitees-signup.js'
import type { SignUpCodes } from '../service/sign-up-codes.js'

/** What the door stands on; put together in `cli`. */
export interface OauthDeps {
  readonly now: () => number
  readonly gate: SessionGate
  readonly sessions: Sessions
  readonly signIn: SignIn
  readonly secondFactor: SecondFactor
  readonly passwords: PasswordQueue
  readonly authorizations: Authorizations
  readonly ownTokens: OwnTokens
  readonly apps: Apps
  readonly profiles: Profiles
  readonly resets: Resets
  readonly signUps: SignUps
  readonly signUpCodes: SignUpCodes
  readonly setUp: SetUp
  readonly passwordLengthMin: number
  /** Anybody may sign up, without an invitation. */
  readonly isSignUpOpen: boolean
  readonly consentLifetimeMs: number
  /** The address of the service as the client knows it, without a trailing slash. */
  readonly baseUrl: (exchange: Exchange) => string
  /** The same for links in mails, where nobody's word is taken; undefined: it is not known for certain. */
  readonly certainBaseUrl: (exchange: Exchange) => string | undefined
  /** The certificate that clients are to trust, as PEM. */
  readonly certificate: () => Promise<string>
  readonly complain: (message: string, error: unknown) => void
}
