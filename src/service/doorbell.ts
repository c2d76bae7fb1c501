/** Lets one who sleeps be woken. A ring while nobody sleeps ends the next sleep at once. */
export interface Doorbell {
  ring(): void
  /** Resolves at a ring, or after that time. */
  wait(timeMs: number): Promise<void>
}

export function doorbell(): Doorbell {
  let isRung = false
  let wake: (() => void) | undefined
  return {
    ring() {
      isRung = true
      wake?.()
    },
    async wait(timeMs) {
      if (!isRung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeMs)
          timer.unref()
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      wake = undefined
      isRung = false
    },
  }
}
