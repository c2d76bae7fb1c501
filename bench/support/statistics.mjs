export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** The value that so many percent of the list do not exceed. */
export function quantile(values, percent) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil((sorted.length * percent) / 100) - 1)]
}

export const rateOf = (sample) => sample.amount / sample.seconds
export const cpuOf = (sample) => sample.cpuSeconds / sample.amount

/** The median over the rounds of one value divided by another; rounds that only one of them finished do not count. */
export function medianRatio(samples, others, valueOf) {
  const ratios = []
  for (let round = 0; round < Math.min(samples.length, others.length); round++) {
    ratios.push(valueOf(samples[round]) / valueOf(others[round]))
  }
  return ratios.length === 0 ? undefined : median(ratios)
}

/** Peaks of the memory of a server over a run, and whether its second half needed more than its first. */
export function memoryOf(samples) {
  const points = samples.flatMap((sample) => sample.memory ?? [])
  if (points.length === 0) return undefined
  const peak = (list, key) => Math.max(0, ...list.map((point) => point[key]))
  const halves = samples.map(({ memory }) => {
    const middle = memory.length >> 1
    return peak(memory.slice(middle), 'rss') / Math.max(1, peak(memory.slice(0, middle), 'rss'))
  })
  return { rss: peak(points, 'rss'), pss: peak(points, 'pss'), growth: median(halves) }
}
