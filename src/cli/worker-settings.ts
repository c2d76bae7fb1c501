import cluster from 'node:cluster'
import type { ServeSettings } from './settings.js'

/** How the primary hands its settings to a worker. */
export const WORKER_SETTINGS = 'STARLING_WORKER_SETTINGS'

/** The settings of this process if it is a worker. */
export function workerSettings(): ServeSettings | undefined {
  const text = process.env[WORKER_SETTINGS]
  return cluster.isWorker && text !== undefined ? (JSON.parse(text) as ServeSettings) : undefined
}
