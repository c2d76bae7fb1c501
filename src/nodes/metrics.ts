import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Exchange } from '../http/exchange.js'

export interface Metrics {
  readonly registry: Registry
  /** Counts a request whose reply is over. */
  count(exchange: Exchange): void
}

const SECONDS_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60]

export function metrics(connections: () => number): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const requests = new Counter({
    name: 'starling_requests_total',
    help: 'Requests answered, by method and class of status',
    labelNames: ['method', 'status'],
    registers: [registry],
  })
  const seconds = new Histogram({
    name: 'starling_request_seconds',
    help: 'Time from the head of a request to the end of its reply',
    buckets: SECONDS_BUCKETS,
    registers: [registry],
  })
  new Gauge({
    name: 'starling_connections',
    help: 'Open connections',
    registers: [registry],
    collect() {
      this.set(connections())
    },
  })
  const counters = new Map<string, ReturnType<typeof requests.labels>>()

  function counterOf(method: string, status: number): ReturnType<typeof requests.labels> {
    const label = `${KNOWN_METHODS.has(method) ? method : 'other'} ${Math.floor(status / 100)}xx`
    let counter = counters.get(label)
    if (counter === undefined) {
      const [name = '', statusClass = ''] = label.split(' ')
      counter = requests.labels(name, statusClass)
      counters.set(label, counter)
    }
    return counter
  }

  return {
    registry,
    count(exchange) {
      counterOf(exchange.method, exchange.res.statusCode).inc()
      seconds.observe((Date.now() - exchange.startedMs) / 1000)
    },
  }
}

const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
