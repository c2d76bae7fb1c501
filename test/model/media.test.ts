import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contentDisposition, mimeType } from '../../src/model/media.js'

/** Printable ASCII but for quote, percent, slash and backslash; then the characters of RFC 5987. */
const FORM =
  /^(inline|attachment); filename="([ !#$&-.0-[\]-~]*)"; filename\*=UTF-8''((?:[A-Za-z0-9!#$&+.^_`|~-]|%[0-9A-F]{2})*)$/

function parse(header: string): { type: string | undefined; fallback: string | undefined; name: string } {
  const match = FORM.exec(header)
  expect(match, header).not.toBeNull()
  return { type: match?.[1], fallback: match?.[2], name: decodeURIComponent(match?.[3] ?? '') }
}

describe('mimeType', () => {
  it('follows the extension in any letter case [FILE-6]', () => {
    expect(mimeType('a.txt')).toBe('text/plain')
    expect(mimeType('A.TXT')).toBe('text/plain')
    expect(mimeType('a.png')).toBe('image/png')
    expect(mimeType('a?b#c.txt')).toBe('text/plain')
    expect(mimeType('a.tar.txt')).toBe('text/plain')
    expect(mimeType('.hidden.txt')).toBe('text/plain')
  })

  it('does not know a name without extension or with an unknown one [FILE-6]', () => {
    const names = [
      'a',
      'txt',
      '.txt',
      'a.',
      'a.unheard-of',
      'a.txt ',
      'a.constructor',
      'a.__proto__',
      '...',
      '',
    ]
    for (const name of names) expect(mimeType(name), name).toBe('application/octet-stream')
  })

  it('never has parameters [FILE-6]', () => {
    for (const extension of ['html', 'js', 'json', 'css', 'csv', 'xml', 'md'])
      expect(mimeType(`a.${extension}`)).toMatch(/^[a-z]+\/[a-z0-9.+-]+$/)
  })
})

describe('contentDisposition', () => {
  it('gives a fallback and the exact name [DOWN-4]', () => {
    expect(contentDisposition('a.txt')).toBe(`inline; filename="a.txt"; filename*=UTF-8''a.txt`)
    expect(contentDisposition('é😀.bin')).toBe(
      `attachment; filename="__.bin"; filename*=UTF-8''%C3%A9%F0%9F%98%80.bin`,
    )
  })

  it('keeps awkward names readable [DOWN-5]', () => {
    const fallbacks = new Map([
      ['日本語.pdf', '___.pdf'],
      ['a"b.txt', 'a_b.txt'],
      ['- x', '- x'],
      ['a;b=c.txt', 'a;b=c.txt'],
      ['100%.txt', '100_.txt'],
      ["it's (*).txt", "it's (*).txt"],
    ])
    for (const [name, fallback] of fallbacks)
      expect(parse(contentDisposition(name))).toMatchObject({ name, fallback })
  })

  it('holds for every name [DOWN-4]', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (name) => {
        expect(parse(contentDisposition(name)).name).toBe(name)
      }),
    )
  })

  it('never shows active types in place [DOWN-6]', () => {
    for (const extension of [
      'html',
      'htm',
      'HTML',
      'xhtml',
      'svg',
      'svgz',
      'xml',
      'pdf',
      'js',
      'mjs',
      'css',
      'swf',
      'mhtml',
      'zip',
    ]) {
      expect(parse(contentDisposition(`a.${extension}`)).type, extension).toBe('attachment')
    }
    for (const name of ['a', 'html', '.html']) expect(parse(contentDisposition(name)).type).toBe('attachment')
  })

  it('shows plain text, pictures, sound and film in place [DOWN-6]', () => {
    for (const extension of ['txt', 'png', 'jpg', 'gif', 'webp', 'mp3', 'wav', 'mp4', 'webm']) {
      expect(parse(contentDisposition(`a.${extension}`)).type, extension).toBe('inline')
    }
  })
})
