/**
 * The one interface to the metadata, kept small so that both engines can honour it to the letter.
 * The SQL text is the same for both, with the placeholders $1..$n.
 */
import { Failure } from '../model/failures.js'

export type Value = string | number | Buffer | null

export type Row = Record<string, unknown>

/**
 * The inside of a transaction. It is of use only until the body that received it has settled. The first statement
 * that fails dooms the transaction on either engine: it is rolled back even if the body catches the error.
 * Whole numbers come back as numbers, truth values as 1 and 0, binary columns as Buffer.
 */
export interface Tx {
  get<T = Row>(sql: string, ...values: Value[]): Promise<T | undefined>
  /**
   * The same as get() for what nearly every request asks. A look at the database may give the very row that an earlier
   * one gave, as long as nothing at all was committed in between; so nobody may change it. The values are identifiers.
   */
  recall<T = Row>(sql: string, ...values: string[]): Promise<Readonly<T> | undefined>
  all<T = Row>(sql: string, ...values: Value[]): Promise<T[]>
  /** Rows as lists in the order of their columns: for answers of thousands of rows, where objects cost too much. */
  lists<T extends unknown[]>(sql: string, ...values: Value[]): Promise<T[]>
  /** Resolves to the number of rows changed. */
  run(sql: string, ...values: Value[]): Promise<number>
  /**
   * Holds the rows with these primary keys until the transaction ends, so that two writers of the same thing take
   * turns. They are taken in the order of their keys. A row that does not exist is not held. Only for tables with a
   * primary key of one column.
   */
  lock(table: string, ...keys: string[]): Promise<void>
  /** The effect runs once, after the commit is durable and before write() resolves. It must not throw. */
  afterCommit(effect: () => void): void
}

export interface Db {
  /** For logs; nothing outside the drivers may depend on it. */
  readonly engine: 'sqlite' | 'postgres'
  /**
   * Runs the body on one consistent snapshot; statements that change anything fail. The body may run more than once: what
   * it does besides reading must bear that. What it gives may be kept under a name for recall(): then it must follow
   * from that name and from the database alone, be small, and never be changed by anybody.
   */
  read<T>(body: (tx: Tx) => Promise<T>, keptAs?: string): Promise<T>
  /**
   * What a read gave that was to be kept under this name, at once, if nothing at all was committed since. An engine may
   * forget it at any time or keep nothing, so undefined says nothing.
   */
  recall(name: string): unknown
  /**
   * Runs the body in a transaction and resolves when its changes are durable. The body may run more than once and
   * therefore acts through `tx` alone. What it throws rolls its changes back and rejects the promise. Rejected with
   * OutcomeUnknown the changes may be there all the same: nothing that they name may be taken away.
   */
  write<T>(body: (tx: Tx) => Promise<T>): Promise<T>
  /** Waits for the work already accepted, then lets go of every connection. May be called again. */
  close(): Promise<void>
}

/** The changes were committed as far as can be told, but nobody can promise that they last. */
export class OutcomeUnknown extends Failure {
  constructor(cause: unknown) {
    super('unavailable', 'the change may or may not have been stored; look before you try again')
    this.cause = cause
  }
}

const UNIQUE_VIOLATIONS = new Set(['23505', 'SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY'])

/** Whether a write failed because another row already holds the same unique value, on either engine. */
export function isUniqueViolation(error: unknown): boolean {
  return UNIQUE_VIOLATIONS.has(errorCode(error))
}

/** The code that the engine or the operating system gave an error; empty when it has none. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}
