/** Values that are wrong, or nearly right, for each part of a request. */
import { seededBytes, type Random } from '../crash/random.js'

const HEX = '0123456789abcdef'

export interface Known {
  token: string
  file: string
  folder: string
}

export function hexDigits(random: Random, count: number): string {
  return Array.from({ length: count }, () => HEX[random.between(0, 15)]).join('')
}

export function anyBytes(random: Random, count: number): Buffer {
  return seededBytes(random.between(0, 1_000_000), count)
}

/** Text that may stand in a path or a query: no blank and no control character, so that the request line stays whole. */
export function pathText(random: Random): string {
  return random.pick([
    () => '%',
    () => '%z1',
    () => '%00',
    () => '%ff%fe',
    () => '%c0%ae%c0%ae%c0%af',
    () => '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
    () => '..',
    () => '%ed%a0%80',
    () => "'--",
    () => '<script>',
    () => '%0d%0aX-Bad:%201',
    () => 'é☃'.normalize(),
    () => '%25'.repeat(random.between(1, 200)),
    () => 'a'.repeat(random.between(1, 3000)),
    () => hexDigits(random, random.pick([1, 31, 32, 33, 63, 64, 65, 128])),
    () => hexDigits(random, 64).toUpperCase(),
    () =>
      [
        '-1',
        '0',
        '1e9',
        'null',
        'undefined',
        '__proto__',
        'constructor',
        'me',
        '*',
        '{}',
        '[]',
        '\\',
        '|',
        '^',
        '`',
      ][random.between(0, 14)] ?? '',
  ])()
}

export function anyId(random: Random, known: Known): string {
  return random.pick([
    () => known.file,
    () => known.folder,
    () => 'root',
    () => 'appdata',
    () => known.file.slice(0, 32),
    () => hexDigits(random, 64),
    () => `${known.folder.slice(0, 32)}${hexDigits(random, 32)}`,
    () => pathText(random),
    () => '',
  ])()
}

/** A header value without line breaks; everything else may be in it. */
export function headerText(random: Random): string {
  const letters = ' \t!"#$%&\'()*+,-./0123456789:;<=>?@ABYZ[\\]^_`abyz{|}~\u0080ÿ'
  return Array.from(
    { length: random.between(0, 60) },
    () => letters[random.between(0, letters.length - 1)],
  ).join('')
}

const BIG_NUMBERS = [
  '0',
  '1',
  '5',
  '10',
  '99',
  '65536',
  '4294967296',
  '9007199254740993',
  '18446744073709551616',
  '9'.repeat(400),
  '-1',
  '',
  'x',
  '0x5',
  '1e3',
  '٣',
]

export function anyNumber(random: Random): string {
  return random.pick(BIG_NUMBERS)
}

export function rangeText(random: Random): string {
  const one = (): string =>
    random.pick([
      `${anyNumber(random)}-${anyNumber(random)}`,
      `-${anyNumber(random)}`,
      `${anyNumber(random)}-`,
      '--',
      '0--1',
      ' 1 - 2 ',
    ])
  const unit = random.pick(['bytes=', 'bytes =', 'bytes', 'items=', 'BYTES=', '='])
  return (
    unit +
    Array.from({ length: random.pick([1, 1, 2, 3, 80, 500]) }, one).join(random.pick([',', ', ', ';', ',,']))
  )
}

export function contentRangeText(random: Random): string {
  const range = random.pick(['*', `${anyNumber(random)}-${anyNumber(random)}`, '0-4', '0-', '-5', '4-0'])
  return `${random.pick(['bytes ', 'bytes=', '', 'items ', 'bytes  '])}${range}${random.pick(['/', '', '//'])}${random.pick(['*', anyNumber(random), '5'])}`
}

export function tagText(random: Random): string {
  const one = (): string =>
    random.pick([
      '*',
      '""',
      '"abc"',
      'W/"abc"',
      '"abc',
      "'abc'",
      'W/',
      'w/"x"',
      '"a,b"',
      '\u00ff',
      headerText(random),
      '',
    ])
  return Array.from({ length: random.pick([1, 1, 2, 5, 300]) }, one).join(random.pick([',', ', ', ' ']))
}

export function cookieText(random: Random): string {
  const one = (): string =>
    random.pick([
      'route',
      'route=',
      'route="',
      `route=${hexDigits(random, 31)}`,
      `route=${hexDigits(random, 32)}`,
      '=x',
      ';',
      `session=${pathText(random)}`,
      'a=b=c',
      headerText(random),
    ])
  return Array.from({ length: random.between(1, 8) }, one).join(random.pick(['; ', ';', ', ']))
}

export function authorizationText(random: Random, known: Known): string {
  return random.pick([
    () => `Bearer ${known.token}`,
    () => `bearer  ${known.token}`,
    () => `Bearer ${known.token} x`,
    () => `Bearer ${hexDigits(random, 64)}`,
    () => `Bearer ${pathText(random)}`,
    () => 'Bearer',
    () => `Basic ${Buffer.from(headerText(random)).toString('base64')}`,
    () => 'Basic %%%',
    () => `Digest ${headerText(random)}`,
    () => headerText(random),
  ])()
}

export function jsonBody(random: Random, known: Known): Buffer {
  const text = random.pick([
    () => '',
    () => '{',
    () => '{"name":',
    () => 'null',
    () => '[]',
    () => '"text"',
    () => '1e999',
    () => '\ufeff{"name":"x"}',
    () => '{"name":"a","name":"b"}',
    () => '{"__proto__":{"name":"x"},"constructor":{"prototype":{}}}',
    () => `{"name":"\\ud800","parent":"root"}`,
    () => `{"name":${JSON.stringify(pathText(random))},"parent":${JSON.stringify(anyId(random, known))}}`,
    () =>
      `{"name":${random.pick(['1', 'null', 'true', '[]', '{}', '""', '"."', '".."', '"a/b"', '"a\\u0000b"', '"\\u0007"'])},"parent":"root"}`,
    () => `{"name":"x","parent":${random.pick(['1', 'null', 'true', '[]', '{}', '""', '"/"'])}}`,
    () => `{"name":"${'n'.repeat(random.between(250, 2000))}","parent":"root"}`,
    () => '['.repeat(random.between(60, 20_000)),
    () => `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`,
    () => `{${Array.from({ length: 3000 }, (_, index) => `"k${index}":${index}`).join(',')}}`,
    () =>
      `{"email":${JSON.stringify(headerText(random))},"first_name":1,"last_name":null,"permissions":["READ",1,null]}`,
  ])()
  const bytes = Buffer.from(text)
  if (random.chance(0.15) && bytes.length > 0)
    bytes[random.between(0, bytes.length - 1)] = random.between(0, 255)
  return bytes
}

export function formBody(random: Random): Buffer {
  const one = (): string => {
    const key = random.pick([
      'grant_type',
      'code',
      'client_id',
      'client_secret',
      'redirect_uri',
      'scope',
      'token',
      '',
      '%',
      'a[b]',
      '__proto__',
    ])
    return `${key}${random.pick(['=', '', '=='])}${random.pick(['authorization_code', pathText(random), '%ff', '+', ''])}`
  }
  return Buffer.from(
    Array.from({ length: random.pick([0, 1, 3, 5, 2000]) }, one).join(random.pick(['&', '&&', ';'])),
  )
}
