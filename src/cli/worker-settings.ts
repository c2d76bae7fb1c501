import type { ServeSettings } from './settings.js'

/** How the primary hands its settings to a worker. */
export const WORKER_SETTINGS = 'STARLING_WORKER_SETTINGS'

/** The settings of this process if it is a worker. */
export async function workerSettings(): Promise<ServeSettings | undefined> {
  const text = process.env[WORKER_SETTINGS]
  if (text === undefined) return undefined
  const { default: cluster } = await import('node:cluster')
  return cluster.isWorker ? (JSON.parse(text) as ServeSettings) : undefined
}
