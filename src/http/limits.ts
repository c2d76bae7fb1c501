/** Every bound the protocol layer puts on a client; milliseconds and bytes by the last word of the name. */
export interface HttpLimits {
  /** All header lines of a request together; more is answered 431. */
  readonly headerBytes: number
  /** A connection's first byte, its TLS handshake and each request head must be complete within this time. */
  readonly headersMs: number
  /** Silence in the middle of a request body after which the connection is cut. */
  readonly bodyIdleMs: number
  /** Within each window of this length a body must grow by bodyWindowBytes, or the connection is cut. */
  readonly bodyWindowMs: number
  readonly bodyWindowBytes: number
  /**
   * A download is cut when the socket took no byte for this long. The kernel takes bytes in bursts of up to
   * about a megabyte, so this must stay long or a slow but steady reader is cut between two bursts.
   */
  readonly drainIdleMs: number
  /** Silence between two requests after which a kept connection is closed. */
  readonly keepAliveMs: number
  /** Largest JSON or form body. */
  readonly jsonBytes: number
  /** What large forms that are being received or answered may take together; anybody may send one. */
  readonly largeFormsBytes: number
  /** What large buffers of downloads take together; downloads beyond it are sent in smaller pieces. */
  readonly largeFramesBytes: number
  /** Who takes longer for a piece of a download is a slow reader, and has no more large buffers. */
  readonly slowPieceMs: number
  readonly jsonDepth: number
  /** Members of all objects of one JSON body together. */
  readonly jsonKeys: number
  /** Open connections; those beyond it are answered 503. */
  readonly connections: number
  /** Connections beyond the limit that still get their 503; any further ones are dropped without an answer. */
  readonly refusedConnections: number
  /** Requests that a client may send ahead on one connection; one that sends more is cut off. */
  readonly pipelinedRequests: number
  /** Requests served on one connection; the last one is answered with Connection: close. */
  readonly requestsPerConnection: number
  /** How long, and how much, of an unwanted body is read so that its sender sees the answer and not a reset. */
  readonly refusedDrainMs: number
  readonly refusedDrainBytes: number
  /** Time for which a server that is told to stop still takes requests, so that a load balancer can notice. */
  readonly drainMs: number
  /** Time that requests under way get to finish when the server stops. */
  readonly stopMs: number
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  headerBytes: 16_384,
  headersMs: 20_000,
  bodyIdleMs: 60_000,
  bodyWindowMs: 60_000,
  bodyWindowBytes: 4_096,
  drainIdleMs: 300_000,
  keepAliveMs: 65_000,
  jsonBytes: 1_048_576,
  largeFormsBytes: 67_108_864,
  largeFramesBytes: 8_388_608,
  slowPieceMs: 1_000,
  jsonDepth: 64,
  jsonKeys: 10_000,
  connections: 10_000,
  refusedConnections: 100,
  pipelinedRequests: 100,
  requestsPerConnection: 100_000,
  refusedDrainMs: 10_000,
  refusedDrainBytes: 67_108_864,
  drainMs: 0,
  stopMs: 10_000,
}
