/** Reads what strace wrote (`-f -yy -xx`): the calls in the order of their beginnings and ends. */

/** The calls that change files or directories, or answer a client. A call of this list that the disk does not know fails the test. */
export const TRACED_CALLS = [
  ...[
    'openat',
    'open',
    'creat',
    'write',
    'pwrite64',
    'pwritev',
    'pwritev2',
    'writev',
    'ftruncate',
    'truncate',
    'fallocate',
  ],
  ...['fsync', 'fdatasync', 'sync_file_range', 'syncfs', 'sync', 'copy_file_range', 'sendfile', 'splice'],
  ...[
    'rename',
    'renameat',
    'renameat2',
    'unlink',
    'unlinkat',
    'rmdir',
    'mkdir',
    'mkdirat',
    'link',
    'linkat',
    'symlink',
    'symlinkat',
  ],
  ...['sendto', 'sendmsg', 'io_uring_enter'],
]

export interface Call {
  thread: number
  name: string
  /** The arguments as printed. */
  text: string
  /** Negative when the call failed. */
  result: number
  /** Places in the one order of all beginnings and ends; a call is done before another when its exit is below the other's entry. */
  entry: number
  exit: number
  isInjected: boolean
}

const BEGUN = /^(\d+)\s+(\w+)\((.*) <unfinished \.\.\.>$/
const RESUMED = /^(\d+)\s+<\.\.\. (\w+) resumed>(.*)\)\s+= (-?\d+|\?)(.*)$/
const WHOLE_CALL = /^(\d+)\s+(\w+)\((.*)\)\s+= (-?\d+|\?)(.*)$/

/** All finished calls, in the order of their ends. */
export function parseTrace(text: string): Call[] {
  const calls: Call[] = []
  const begun = new Map<string, { text: string; entry: number }>()
  text.split('\n').forEach((line, index) => {
    const start = BEGUN.exec(line)
    if (start !== null) {
      begun.set(start[1] ?? '', { text: start[3] ?? '', entry: index })
      return
    }
    const match = RESUMED.exec(line) ?? WHOLE_CALL.exec(line)
    if (match === null || match[4] === '?') return
    const [, thread = '', name = '', rest = '', result = '', note = ''] = match
    const before = line.includes(' resumed>') ? begun.get(thread) : undefined
    if (before !== undefined) begun.delete(thread)
    calls.push({
      thread: Number(thread),
      name,
      text: (before?.text ?? '') + rest,
      result: Number(result),
      entry: before?.entry ?? index,
      exit: index,
      isInjected: note.includes('(INJECTED)'),
    })
  })
  return calls
}

/** The path of the file behind the first argument or the result, or undefined when it is no file. */
export function descriptorPath(text: string): string | undefined {
  const hex = /^(?:\d+|AT_FDCWD)<((?:\\x[0-9a-f]{2})+)>/.exec(text)?.[1]
  return hex === undefined ? undefined : unescape(hex).toString()
}

/** Whether the file behind the descriptor has no name any more. */
export function isDeleted(text: string): boolean {
  return /^\d+<[^>]*>\(deleted\)/.test(text)
}

/** The client's port, when the first argument is a connection. */
export function peerPort(text: string): number | undefined {
  const port = /^\d+<TCP(?:v6)?:\[[^\]]*?:\d+->.*?:(\d+)\]>/.exec(text)?.[1]
  return port === undefined ? undefined : Number(port)
}

/** The string arguments, unescaped. */
export function stringsOf(text: string): Buffer[] {
  if (/"\.\.\./.test(text)) throw new Error('the trace holds a shortened string')
  return [...text.matchAll(/"([^"]*)"/g)].map((match) => unescape(match[1] ?? ''))
}

/** The bytes that a write really wrote: the strings joined, as far as the result says. */
export function writtenBytes(call: Call): Buffer {
  return Buffer.concat(stringsOf(call.text)).subarray(0, Math.max(0, call.result))
}

/** The last number among the arguments: an offset or a length. */
export function lastNumber(text: string): number {
  const found = /(?:^|, )(\d+)$/.exec(text)?.[1]
  if (found === undefined) throw new Error(`no number at the end of ${text.slice(-60)}`)
  return Number(found)
}

function unescape(hex: string): Buffer {
  return Buffer.from(hex.replaceAll('\\x', ''), 'hex')
}
