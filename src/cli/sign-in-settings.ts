import { HASHES_WAITING_MAX } from '../service/password-queue.js'
import type { Setting, Values } from './settings.js'

/** How long what leads to a session lives, and how many failures are borne. */
export interface SignInSettings {
  readonly idleMs: number
  readonly sessionMs: number
  readonly halfMs: number
  readonly codeMs: number
  readonly consentMs: number
  readonly resetMs: number
  readonly signUpMs: number
  readonly failuresMax: number
  readonly failuresWindowMs: number
  readonly waitingMax: number
}

export const SIGN_IN_SETTINGS: readonly Setting[] = [
  seconds('session-idle', '43200', 'silence after which a web session ends'),
  seconds('session-lifetime', '2592000', 'life of a web session'),
  seconds('half-session-lifetime', '600', 'time for the second factor'),
  seconds('code-lifetime', '600', 'life of an authorization code'),
  seconds('consent-lifetime', '3600', 'time for an answer on the consent page'),
  seconds('reset-lifetime', '86400', 'life of a link to set a new password'),
  seconds('sign-up-lifetime', '86400', 'life of the mail that confirms an address, where sign-up is open'),
  {
    name: 'failures-max',
    kind: 'number',
    fallback: '10',
    help: 'failed sign-ins for one account or from one address',
  },
  seconds('failures-window', '60', 'time in which they are counted'),
  {
    name: 'sign-ins-waiting',
    kind: 'number',
    fallback: String(HASHES_WAITING_MAX),
    help: 'sign-ins that wait for their turn in one process; more are asked to come back',
  },
]

function seconds(name: string, fallback: string, what: string): Setting {
  return { name, kind: 'number', fallback, help: `seconds: ${what}` }
}

export function signInSettings(values: Values): SignInSettings {
  const whole = (name: string): number => {
    const fallback = SIGN_IN_SETTINGS.find((setting) => setting.name === name)?.fallback
    return values.number(name, { min: 1 }) ?? Number(fallback)
  }
  return {
    idleMs: whole('session-idle') * 1000,
    sessionMs: whole('session-lifetime') * 1000,
    halfMs: whole('half-session-lifetime') * 1000,
    codeMs: whole('code-lifetime') * 1000,
    consentMs: whole('consent-lifetime') * 1000,
    resetMs: whole('reset-lifetime') * 1000,
    signUpMs: whole('sign-up-lifetime') * 1000,
    failuresMax: whole('failures-max'),
    failuresWindowMs: whole('failures-window') * 1000,
    waitingMax: whole('sign-ins-waiting'),
  }
}
