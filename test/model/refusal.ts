import { expect } from 'vitest'
import { Failure } from '../../src/model/failures.js'

/** Runs what must be refused as BAD_ARGS, and gives the message. */
export function refusal(body: () => unknown): string {
  let thrown: unknown
  try {
    body()
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(Failure)
  if (!(thrown instanceof Failure)) return ''
  expect(thrown.kind).toBe('badArgs')
  return thrown.message
}
