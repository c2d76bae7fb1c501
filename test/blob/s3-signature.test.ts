import { describe, expect, it } from 'vitest'
import { canonicalQuery, sha256, signedHeaders } from '../../src/blob/s3-signature.js'

/** The worked examples of Amazon's own documentation of the signature. */
const CREDENTIALS = {
  accessKey: 'AKIAIOSFODNN7EXAMPLE',
  secretKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  sessionToken: undefined,
}
const NOW = new Date('2013-05-24T00:00:00Z')
const HOST = 'examplebucket.s3.amazonaws.com'

function signatureOf(
  method: string,
  path: string,
  query: Record<string, string>,
  headers: Record<string, string>,
  body = '',
): string {
  const request = { method, host: HOST, path, query, headers, bodyHash: sha256(body) }
  const { authorization = '' } = signedHeaders(request, CREDENTIALS, 'us-east-1', NOW)
  return authorization.replace(/.*Signature=/, '')
}

describe('the signature of a request to S3', () => {
  it('is the documented one for a range of an object', () => {
    expect(signatureOf('GET', '/test.txt', {}, { Range: 'bytes=0-9' })).toBe(
      'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    )
  })

  it('is the documented one for an object that is put', () => {
    const headers = { Date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' }
    expect(signatureOf('PUT', '/test%24file.text', {}, headers, 'Welcome to Amazon S3.')).toBe(
      '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    )
  })

  it('is the documented one for a question about the bucket and for a list', () => {
    expect(signatureOf('GET', '/', { lifecycle: '' }, {})).toBe(
      'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
    )
    expect(signatureOf('GET', '/', { prefix: 'J', 'max-keys': '2' }, {})).toBe(
      '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    )
  })

  it('covers the token of keys that are lent for a time', () => {
    const request = { method: 'GET', host: HOST, path: '/', query: {}, headers: {}, bodyHash: sha256('') }
    const lent = signedHeaders(request, { ...CREDENTIALS, sessionToken: 'lent' }, 'us-east-1', NOW)
    expect(lent['x-amz-security-token']).toBe('lent')
    expect(lent['authorization']).toContain(
      'SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token',
    )
  })

  it('escapes the question as S3 does', () => {
    expect(canonicalQuery({ b: "a b!'()*/~", a: '=&+' })).toBe('a=%3D%26%2B&b=a%20b%21%27%28%29%2A%2F~')
  })
})
