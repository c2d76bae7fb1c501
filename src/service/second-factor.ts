import { Secret, TOTP } from 'otpauth'
import type { Tx } from '../db/db.js'
import {
  clearSecondFactor,
  countRecoveryCodes,
  deleteRecoveryCodes,
  insertRecoveryCode,
  setSecondFactor,
  useRecoveryCode,
  useStep,
} from '../db/second-factor.js'
import type { Person } from '../gate/person.js'
import { Failure } from '../model/failures.js'
import { hashSecret, randomHex } from '../model/secrets.js'
import { record } from './journal.js'

const ISSUER = 'Starling'
const SECRET_BYTES = 20
const STEP_MS = 30_000
/** Steps before and after this moment whose codes count, for clocks that differ. */
const STEPS_ASIDE = 1
const RECOVERY_CODES = 10
const RECOVERY_CODE_BYTES = 8

export interface SecondFactor {
  /** A new secret in base32, and the address that an authenticator reads. */
  propose(email: string): { secret: string; address: string }
  addressOf(email: string, secret: string): string
  /** The recovery codes, which are shown this once; undefined: the code does not fit the secret. */
  enrol(tx: Tx, person: Person, secret: string, code: string): Promise<string[] | undefined>
  leave(tx: Tx, person: Person): Promise<void>
  /** New recovery codes in place of the old ones. */
  renewRecoveryCodes(tx: Tx, person: Person): Promise<string[]>
  recoveryCodesLeft(tx: Tx, person: Person): Promise<number>
  /** Whether it is a code of this moment, or a recovery code; either is used up by the question. */
  accept(tx: Tx, user: { id: string; secret: string }, code: string): Promise<boolean>
}

export function secondFactor(deps: { now: () => number }): SecondFactor {
  async function makeRecoveryCodes(tx: Tx, userId: string): Promise<string[]> {
    await deleteRecoveryCodes(tx, userId)
    const codes = Array.from({ length: RECOVERY_CODES }, () => randomHex(RECOVERY_CODE_BYTES))
    for (const code of codes) await insertRecoveryCode(tx, userId, hashSecret(code))
    return codes.map((code) => (code.match(/.{4}/g) ?? []).join('-'))
  }

  /** The time step that the code belongs to. */
  function stepOf(secret: string, code: string): number | undefined {
    const timestamp = deps.now()
    const delta = totp('', secret).validate({ token: code, window: STEPS_ASIDE, timestamp })
    return delta === null ? undefined : Math.floor(timestamp / STEP_MS) + delta
  }

  return {
    propose(email) {
      const secret = new Secret({ size: SECRET_BYTES }).base32
      return { secret, address: totp(email, secret).toString() }
    },

    addressOf: (email, secret) => totp(email, secret).toString(),

    async enrol(tx, person, secret, code) {
      if (person.hasSecondFactor) throw new Failure('conflict', 'you have a second factor already')
      const step = stepOf(secret, digits(code))
      if (step === undefined) return undefined
      await setSecondFactor(tx, person.userId, secret, step)
      await record(tx, person, { atMs: deps.now(), action: 'user.second-factor', subject: person.email })
      return makeRecoveryCodes(tx, person.userId)
    },

    async leave(tx, person) {
      await clearSecondFactor(tx, person.userId)
      await record(tx, person, {
        atMs: deps.now(),
        action: 'user.second-factor.off',
        subject: person.email,
      })
    },

    renewRecoveryCodes: (tx, person) => makeRecoveryCodes(tx, person.userId),
    recoveryCodesLeft: (tx, person) => countRecoveryCodes(tx, person.userId),

    async accept(tx, user, code) {
      const plain = digits(code)
      if (/^\d{6}$/.test(plain)) {
        const step = stepOf(user.secret, plain)
        return step !== undefined && (await useStep(tx, user.id, step))
      }
      return useRecoveryCode(tx, user.id, hashSecret(plain.toLowerCase()))
    },
  }
}

/** People type codes as they are printed, in groups. */
function digits(code: string): string {
  return code.replace(/[\s-]/g, '')
}

function totp(label: string, secret: string): TOTP {
  return new TOTP({ issuer: ISSUER, label, secret: Secret.fromBase32(secret) })
}
