import type { Replica } from '../blob/replica.js'
import type { BlobStore } from '../blob/store.js'
import type { Staging } from '../blob/staging.js'
import type { PasswordQueue } from './password-queue.js'

/** A change that other processes must hear of, so that they cut what has become stale. */
export interface Signal {
  readonly sid: string
}

/** Keeps the number of bodies being received, and each upload, within bounds over all processes of the node. */
export interface Turnstile {
  /** A hint without asking: at this moment no slot is free. It may be a moment old. */
  readonly isFull: boolean
  /** `busy`: somebody holds that lock. `full`: no slot is free. Otherwise `leave` must be called once. */
  enter(request: { slot: boolean; lock: string | undefined }): Promise<Passage | 'busy' | 'full'>
}

export interface Passage {
  leave(): void
}

/** A person as an external directory knows one. */
export interface DirectoryEntry {
  readonly firstName: string | undefined
  readonly lastName: string | undefined
}

/** An external directory of people. All verbs throw `unavailable` when it cannot be asked. */
export interface Directory {
  find(email: string): Promise<DirectoryEntry | undefined>
  /** The entry if that is its password. */
  verify(email: string, password: string): Promise<DirectoryEntry | undefined>
  /** The work of a wrong password for somebody whose password it has not to judge: nobody's bind is tried. */
  pretend(email: string): Promise<void>
}

/** Who may become a user: anybody, whom any user invites, whom an admin invites. */
export type SignUpPolicy = 'open' | 'invited' | 'admin'

/** What the verbs stand on; made once in main. */
export interface ServiceDeps {
  readonly nodeId: string
  readonly now: () => number
  readonly blobs: BlobStore
  readonly staging: Staging
  /** The node's own copy of content; without one it reads through. */
  readonly replica: Replica | undefined
  /** Somebody asked for content that is still on its way to the node. */
  readonly askFor: (hash: string) => void
  readonly turnstile: Turnstile
  readonly signal: (signal: Signal) => void
  /** Bytes that the disk still has for content, kept fresh in the background. */
  readonly diskFreeBytes: () => number
  readonly uploadLifetimeMs: number
  readonly quotaBytes: number | null
  readonly signUpPolicy: SignUpPolicy
  readonly passwordLengthMin: number
  /** The slow work on passwords, a little at a time. */
  readonly hashing: PasswordQueue
  readonly directory: Directory | undefined
  /** The address of the service where a setting tells it, for links in mails. */
  readonly publicUrl: string | undefined
  /** Something failed that no client waits for. */
  readonly complain: (message: string, error: unknown) => void
}
