import type { Db } from '../db/db.js'
import { findSignIn } from '../db/sessions.js'
import type { PasswordQueue } from './password-queue.js'
import type { VerifyPassword } from './sign-in.js'

/** Passwords that are kept here; the accounts of a directory cannot sign in this way. */
export function localPasswords(db: Db, passwords: PasswordQueue): VerifyPassword {
  return async ({ email, password }, inTurn) => {
    const user = await db.read((tx) => findSignIn(tx, email))
    const stored = user?.is_external === 1 ? null : (user?.password_hash ?? null)
    const isRight = await inTurn(() => passwords.verify(stored, password))
    return isRight && user !== undefined ? { id: user.user_id, password_hash: user.password_hash } : undefined
  }
}
