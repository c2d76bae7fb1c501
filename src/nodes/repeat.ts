import type { Logger } from './log.js'

/** Runs a task at once and then again and again, never twice at a time. */
export function repeat(everyMs: number, task: () => Promise<unknown>, log: Logger): () => Promise<void> {
  let running: Promise<unknown> = Promise.resolve()
  let isIdle = true
  const run = (): void => {
    if (!isIdle) return
    isIdle = false
    running = task()
      .catch((error: unknown) => log.error({ err: error }, 'a duty of the node failed'))
      .finally(() => {
        isIdle = true
      })
  }
  run()
  const timer = setInterval(run, everyMs)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await running
  }
}
