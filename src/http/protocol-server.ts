import { createServer as createHttpServer } from 'node:http'
import type { Server, ServerOptions } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { DEFAULT_CIPHERS } from 'node:tls'
import type { HttpLimits } from './limits.js'

/** Node's parser for HTTP/1.1, over TLS or not. It is given its connections by the listener in front of it. */
export function createProtocolServer(
  tls: { readonly cert: string; readonly key: string } | undefined,
  limits: HttpLimits,
): Server {
  const settings: ServerOptions = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    // A steady upload may take hours; its progress is watched where its body is read.
    requestTimeout: 0,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(CHECK_MS, Math.ceil(limits.headersMs / 4)),
    insecureHTTPParser: false,
    joinDuplicateHeaders: false,
    // Node's own answer to a missing Host has no error object.
    requireHostHeader: false,
    noDelay: true,
  }
  const server =
    tls === undefined
      ? createHttpServer(settings)
      : createHttpsServer({ ...settings, ...tlsSettings(tls, limits) })
  // Node starts to watch for slow heads when a server listens; this one never does so itself.
  server.emit('listening')
  return server
}

const CHECK_MS = 1_000

function tlsSettings(tls: { readonly cert: string; readonly key: string }, limits: HttpLimits): object {
  return {
    cert: tls.cert,
    key: tls.key,
    // Nobody's certificate is asked for, and without this a start would read all authorities that node knows.
    ca: [],
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
    ciphers: CIPHERS,
    handshakeTimeout: limits.headersMs,
  }
}

/** The cheapest strong cipher of TLS 1.3 goes first, as it does in node's list for TLS 1.2. */
const FIRST_CIPHER = 'TLS_AES_128_GCM_SHA256'
const CIPHERS = [FIRST_CIPHER, ...DEFAULT_CIPHERS.split(':').filter((name) => name !== FIRST_CIPHER)].join(
  ':',
)
