import { describe, expect, it } from 'vitest'
import { Failure } from '../../src/model/failures.js'

describe('Failure', () => {
  it('is an error with a kind, a message and the headers of the answer', () => {
    const failure = new Failure('methodNotAllowed', 'use GET', { Allow: 'GET' })
    expect(failure).toBeInstanceOf(Error)
    expect(failure).toMatchObject({ kind: 'methodNotAllowed', message: 'use GET', headers: { Allow: 'GET' } })
  })

  it('has no headers unless told', () => {
    expect(new Failure('notFound', 'no such file').headers).toEqual({})
  })
})
