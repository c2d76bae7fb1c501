declare const proof: unique symbol

/** Somebody who is signed in in a browser; only `sessions.ts` makes one. Fits where a change is put down to an actor. */
export interface Person {
  readonly [proof]: 'signed in'
  readonly userId: string
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  readonly isAdmin: boolean
  readonly rootSid: string
  /** The password is a directory's. */
  readonly isExternal: boolean
  readonly hasSecondFactor: boolean
  readonly sessionHash: string
  readonly isRemembered: boolean
  /** A browser has no token and so no device. */
  readonly deviceId: ''
  readonly origin: string
}

/** A person who is an admin at this moment. */
export interface AdminPerson extends Person {
  readonly isAdmin: true
}
