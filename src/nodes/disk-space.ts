import { statfs } from 'node:fs/promises'

/** The share of the disk that content never takes. */
const RESERVE_SHARE = 0.05
const RESERVE_BYTES_MAX = 1024 ** 3
const REFRESH_MS = 2_000

export interface DiskSpace {
  freeBytes(): number
  stop(): void
}

/** Knows how much the disk has, less a reserve, without asking it at every request. */
export async function watchDiskSpace(directory: string): Promise<DiskSpace> {
  let freeBytes = await measure(directory)
  const timer = setInterval(() => {
    measure(directory).then(
      (bytes) => {
        freeBytes = bytes
      },
      // The figure of a moment ago is the best there is; a write to a broken disk fails by itself.
      () => undefined,
    )
  }, REFRESH_MS)
  timer.unref()
  return { freeBytes: () => freeBytes, stop: () => clearInterval(timer) }
}

async function measure(directory: string): Promise<number> {
  const { bavail, blocks, bsize } = await statfs(directory)
  const reserve = Math.min(blocks * bsize * RESERVE_SHARE, RESERVE_BYTES_MAX)
  return Math.max(0, Math.floor(bavail * bsize - reserve))
}
