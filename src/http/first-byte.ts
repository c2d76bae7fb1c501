import type { Socket } from 'node:net'
import { refuseConnection } from './client-error.js'
import type { HttpLimits } from './limits.js'
import { PLAIN_HTTP_REFUSAL } from './raw-reply.js'

/**
 * Lets a paused socket that speaks TLS through and tells everybody else that this port speaks HTTPS. One
 * that says nothing within headersMs is closed.
 */
export function admitTlsOnly(socket: Socket, limits: HttpLimits, admit: () => void): void {
  const destroy = (): void => void socket.destroy()
  const timer = setTimeout(destroy, limits.headersMs)
  const onClose = (): void => clearTimeout(timer)
  socket.on('error', destroy)
  socket.once('close', onClose)
  socket.once('readable', () => {
    clearTimeout(timer)
    const first = socket.read() as Buffer | null
    if (first === null) return destroy()
    if (first[0] !== TLS_HANDSHAKE_BYTE) return refuseConnection(socket, PLAIN_HTTP_REFUSAL, limits)
    socket.unshift(first)
    socket.off('error', destroy)
    socket.off('close', onClose)
    admit()
  })
  socket.read(0)
}

const TLS_HANDSHAKE_BYTE = 0x16
