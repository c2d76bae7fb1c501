/** Sends bytes over TLS (or, where asked, without it) and collects what comes back until the connection is over. */
import { connect as plainConnect, type Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'

const END_LIMIT_MS = 3_000

export interface Exchange {
  bytes: Buffer
  /** The server ended the connection before the client did. */
  isEndedByServer: boolean
  /** The connection had to be dropped because the server never ended it. */
  isStuck: boolean
}

export interface Wires {
  /**
   * Sends and waits: until `isDone` says that all is there, until the server ends the connection, or until nothing
   * came for `quietMs`. Then the client ends the connection, or drops it.
   */
  exchange(
    bytes: Buffer,
    options: { quietMs: number; isPlain?: boolean; drops?: boolean; isDone?: (received: Buffer) => boolean },
  ): Promise<Exchange>
}

export function wires(origin: string): Wires {
  const [host = '', port = ''] = origin.split(':')
  let session: Buffer | undefined
  const open = (isPlain: boolean): Socket => {
    if (isPlain) return plainConnect({ host, port: Number(port) })
    const socket = tlsConnect({
      host,
      port: Number(port),
      servername: 'localhost',
      rejectUnauthorized: false,
      ...(session === undefined ? {} : { session }),
    })
    socket.on('session', (ticket) => (session = ticket))
    return socket
  }
  return {
    exchange: (bytes, { quietMs, isPlain = false, drops = false, isDone = () => false }) =>
      new Promise((done) => {
        const socket = open(isPlain)
        const parts: Buffer[] = []
        let isEndedByServer = false
        let isStuck = false
        let isOver = false
        let last: NodeJS.Timeout | undefined
        const finish = (): void => {
          if (isOver) return
          isOver = true
          if (drops) socket.destroy()
          else socket.end()
          last = setTimeout(() => {
            isStuck = true
            socket.destroy()
          }, END_LIMIT_MS)
        }
        let quiet = setTimeout(finish, quietMs + 2_000)
        const wait = (): void => {
          clearTimeout(quiet)
          quiet = setTimeout(finish, quietMs)
        }
        socket.once(isPlain ? 'connect' : 'secureConnect', () => {
          wait()
          socket.write(bytes)
        })
        socket.on('data', (part: Buffer) => {
          parts.push(part)
          wait()
          if (isDone(Buffer.concat(parts))) finish()
        })
        socket.once('end', () => {
          if (!isOver) isEndedByServer = true
          finish()
        })
        // A reset is one of the ways in which the server may end a broken connection.
        socket.on('error', () => {
          if (!isOver) isEndedByServer = true
        })
        socket.once('close', () => {
          clearTimeout(quiet)
          clearTimeout(last)
          done({ bytes: Buffer.concat(parts), isEndedByServer, isStuck })
        })
      }),
  }
}
