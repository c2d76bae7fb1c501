import { describe, expect, it } from 'vitest'
import { parseJson } from '../../src/http/body.js'
import { cookieValues } from '../../src/http/cookies.js'
import { parseForm, parseQuery } from '../../src/http/query.js'
import { decodeSegment, splitPath } from '../../src/http/segments.js'
import { Failure } from '../../src/model/failures.js'

function refusal(action: () => unknown): Failure {
  try {
    action()
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('a query', () => {
  it('keeps a plus, decodes once, and gives repeated parameters in order [HTTP-47] [HTTP-50]', () => {
    const query = parseQuery('after=a+b@x.test&fields=path&fields=%63hildren&t&empty=&eq=a=b&%66oo=%252B')
    expect(query.one('after')).toBe('a+b@x.test')
    expect(query.all('fields')).toEqual(['path', 'children'])
    expect(query.one('t')).toBe('')
    expect(query.one('empty')).toBe('')
    expect(query.one('eq')).toBe('a=b')
    expect(query.one('foo')).toBe('%2B')
    expect(query.one('missing')).toBeUndefined()
    expect(query.all('missing')).toEqual([])
    expect(parseQuery('').one('a')).toBeUndefined()
    expect(parseQuery('a=1').one('__proto__')).toBeUndefined()
  })

  it('refuses a broken parameter only when it is asked for, and names it [HTTP-47] [ERR-5]', () => {
    const query = parseQuery('limit=%zz&bytes=%ff&%ff=1&ok=1')
    expect(query.one('ok')).toBe('1')
    expect(refusal(() => query.one('limit'))).toMatchObject({ kind: 'badArgs' })
    expect(refusal(() => query.one('limit')).message).toContain('limit')
    expect(refusal(() => query.all('bytes')).message).toContain('bytes')
  })

  it('of a form reads a plus as a blank', () => {
    expect(parseForm('scope=a+b%2Bc&x=1').one('scope')).toBe('a b+c')
  })
})

describe('a path', () => {
  it('splits at slashes and tolerates one at its end', () => {
    expect(splitPath('/')).toEqual([])
    expect(splitPath('/api/v1.3/Folders')).toEqual(['api', 'v1.3', 'Folders'])
    expect(splitPath('/api/')).toEqual(['api'])
    expect(splitPath('/api//')).toEqual(['api', ''])
    expect(splitPath('/a//b')).toEqual(['a', '', 'b'])
    expect(splitPath('/a%2Fb')).toEqual(['a%2Fb'])
    expect(splitPath('*')).toEqual(['*'])
  })

  it('has segments that decode once [HTTP-49] [HTTP-50]', () => {
    expect(decodeSegment('a+b@x.test')).toBe('a+b@x.test')
    expect(decodeSegment('a%2Bb%40x.test')).toBe('a+b@x.test')
    expect(decodeSegment('%252B')).toBe('%2B')
    expect(decodeSegment('a%2Fb')).toBe('a/b')
    expect(decodeSegment('%C3%A9')).toBe('é')
  })

  it.each(['%', '%2', '%zz', '%ff', '%C3', '%00', 'a\0', '%ED%A0%80'])(
    'refuses the segment %j [HTTP-49]',
    (raw) => {
      expect(refusal(() => decodeSegment(raw)).kind).toBe('badArgs')
    },
  )
})

describe('cookies', () => {
  it('give every value of a name', () => {
    expect(cookieValues('a=1; route=x; route="y z"; xroute=2; route', 'route')).toEqual(['x', '"y z"'])
    expect(cookieValues(undefined, 'route')).toEqual([])
    expect(cookieValues('=;;route=', 'route')).toEqual([''])
  })
})

describe('JSON', () => {
  const parse = (text: string | Buffer): unknown => parseJson(Buffer.from(text as string), 64, 10_000)

  it.each([
    ['empty', ''],
    ['cut off', '{"a":'],
    ['followed by text', '{} x'],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['led by a byte-order mark', '\ufeff{}'],
    ['no JSON', 'name=x'],
    ['unbalanced', ']]]]{{'],
  ])('that is %s is refused [HTTP-58]', (_, text) => {
    expect(refusal(() => parse(text)).kind).toBe('badArgs')
  })

  it('takes any value [HTTP-58]', () => {
    expect(parse(' {"a":[1,"é\\u00e9\\"{["]} ')).toEqual({ a: [1, 'éé"{['] })
    expect(parse('null')).toBeNull()
    expect(parse('"secret"')).toBe('secret')
  })

  it('nested deeper than the limit, or with very many keys, is refused in one pass [LIMIT-12]', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
    expect(parse(nested(64))).toBeInstanceOf(Array)
    expect(refusal(() => parse(nested(65))).kind).toBe('badArgs')
    expect(refusal(() => parse('['.repeat(1_000_000))).kind).toBe('badArgs')
    expect(refusal(() => parse('{"a":'.repeat(100_000))).kind).toBe('badArgs')
    const keys = Array.from({ length: 10_001 }, (__, index) => `"${index}":0`)
    expect(refusal(() => parse(`{${keys.join(',')}}`)).message).toContain('keys')
    expect(parse(`{"a":"${':'.repeat(20_000)}"}`)).toHaveProperty('a')
  })

  it('treats __proto__ and constructor as keys like any other [HTTP-61]', () => {
    const value = parse('{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}') as object
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor'])
    expect('admin' in value).toBe(false)
    expect('admin' in {}).toBe(false)
  })
})
