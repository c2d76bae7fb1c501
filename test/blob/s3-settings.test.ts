import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { parseS3Address } from '../../src/blob/s3-address.js'
import { s3Credentials } from '../../src/blob/s3-credentials.js'
import { elementsOf, escaped, valueOf } from '../../src/blob/s3-xml.js'
import { temporaryDirectories } from './temporary.js'

describe('the address of an S3 store', () => {
  it("is Amazon's where no endpoint is named, with the bucket in the host", () => {
    expect(parseS3Address('s3://bucket?region=eu-central-1')).toEqual({
      bucket: 'bucket',
      prefix: '',
      origin: 'https://s3.eu-central-1.amazonaws.com',
      region: 'eu-central-1',
      isPathStyle: false,
    })
    expect(parseS3Address('s3://my.bucket').isPathStyle).toBe(true)
  })

  it('names a store of one’s own, with the bucket in the path unless it says otherwise', () => {
    const own = 's3://bucket/a/b/?endpoint=http%3A%2F%2F127.0.0.1%3A9000'
    expect(parseS3Address(own)).toEqual({
      bucket: 'bucket',
      prefix: 'a/b/',
      origin: 'http://127.0.0.1:9000',
      region: 'us-east-1',
      isPathStyle: true,
    })
    expect(parseS3Address(`${own}&path-style=off`).isPathStyle).toBe(false)
  })

  it.each([
    ['bucket', 'must look like'],
    ['s3://b', 'no name of a bucket'],
    ['s3://bucket/%2e%2e', 'may have letters'],
    ['s3://bucket/..', 'may have letters'],
    ['s3://bucket/a//b', 'may have letters'],
    ['s3://bucket?endpoint=https://user:word@x.test', 'without a path'],
    ['s3://bucket?endpoint=https://x.test?a=b', 'without a path'],
    ['s3://bucket?region=eu/1', 'no region'],
    ['s3://bucket?secret=x', 'unknown parameter secret'],
  ])('%s is refused', (text, reason) => {
    expect(() => parseS3Address(text)).toThrow(reason)
  })
})

describe('the keys of an S3 store', () => {
  const directory = temporaryDirectories()
  afterEach(() => vi.useRealTimers())

  it('come from the environment', async () => {
    const environment = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' }
    expect(await s3Credentials(undefined, environment)()).toEqual({
      accessKey: 'a',
      secretKey: 'b',
      sessionToken: undefined,
    })
    const lent = s3Credentials(undefined, { ...environment, AWS_SESSION_TOKEN: 'c' })
    expect((await lent()).sessionToken).toBe('c')
    expect(() => s3Credentials(undefined, { AWS_ACCESS_KEY_ID: 'a' })()).toThrow('AWS_SECRET_ACCESS_KEY')
  })

  it('come from the default section of a file, which is read again when it has changed', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const path = join(await directory(), 'credentials')
    const text = (secret: string): string => `[other]
aws_access_key_id = wrong
aws_secret_access_key = wrong

[default]
aws_access_key_id = key
aws_secret_access_key=${secret}
`
    await writeFile(path, text('a=b/c+d'))
    const source = s3Credentials(path, {})
    expect(await source()).toEqual({ accessKey: 'key', secretKey: 'a=b/c+d', sessionToken: undefined })
    await writeFile(path, text('changed'))
    expect((await source()).secretKey).toBe('a=b/c+d')
    vi.setSystemTime(Date.now() + 61_000)
    expect((await source()).secretKey).toBe('changed')
  })

  it('that are not there are told without what else is in the file', async () => {
    const path = join(await directory(), 'credentials')
    await expect(s3Credentials(path, {})()).rejects.toThrow(`cannot be read from ${path}`)
    await writeFile(path, 'aws_secret_access_key = secret\n')
    await expect(s3Credentials(path, {})()).rejects.toThrow(/names no aws_access_key_id/)
    await expect(s3Credentials(path, {})()).rejects.not.toThrow('= secret')
  })
})

describe('the XML of an S3 store', () => {
  it('is read for the values that are in it, with what was escaped', () => {
    const xml = '<R xmlns="u"><C><Key>a&amp;b</Key></C><C><Key>&#x41;&#66;&lt;</Key></C><E/></R>'
    expect(elementsOf(xml, 'C').map((entry) => valueOf(entry, 'Key'))).toEqual(['a&b', 'AB<'])
    expect(valueOf(xml, 'E')).toBeUndefined()
    expect(valueOf('<Key>&#x110000;&nothing;</Key>', 'Key')).toBe('&#x110000;&nothing;')
    expect(valueOf(`<T>${escaped(`"<&>'`)}</T>`, 'T')).toBe(`"<&>'`)
  })
})
