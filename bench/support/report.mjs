// Turns the samples of the rows into one table. It judges nothing but the bars the rows name, and it stops nothing.
import { cpuOf, medianRatio, median, memoryOf, quantile, rateOf } from './statistics.mjs'

export const UNITS = {
  bytes: { rate: 'GiB/s', rateDigits: 2, cpu: 'CPU s/GiB', cpuFactor: 1, cpuDigits: 2 },
  requests: { rate: 'requests/s', rateDigits: 0, cpu: 'CPU s/1000', cpuFactor: 1000, cpuDigits: 3 },
  files: { rate: 'files/s', rateDigits: 0, cpu: 'CPU s/1000', cpuFactor: 1000, cpuDigits: 3 },
  entries: { rate: 'entries/s', rateDigits: 0, cpu: 'CPU ms/1000', cpuFactor: 1e6, cpuDigits: 2 },
}

const HEADER = [
  ['Measure', 'Server', 'Throughput', 'Server CPU', 'Against', 'Throughput', 'Server CPU'],
  ['Throughput ratio', 'CPU ratio', 'Bar', 'Result'],
].flat()

const cells = (...values) => `| ${values.join(' | ')} |`
const number = (value, digits) =>
  value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })

function rateCell(unit, samples) {
  const rates = samples.map(rateOf)
  const spread =
    rates.length > 1
      ? ` (${number(Math.min(...rates), unit.rateDigits)}–${number(Math.max(...rates), unit.rateDigits)})`
      : ''
  return `${number(median(rates), unit.rateDigits)} ${unit.rate}${spread}`
}

const cpuCell = (unit, samples) =>
  `${number(median(samples.map(cpuOf)) * unit.cpuFactor, unit.cpuDigits)} ${unit.cpu}`

function compares(value, comparison, limit) {
  if (comparison === '≤') return value <= limit
  if (comparison === '<') return value < limit
  return value >= limit
}

const WHAT = { rate: 'throughput', cpu: 'CPU' }

/** Of several peers named together in a bar, the one with the highest throughput is the one that counts. */
function bestOf(names, results) {
  const present = names.filter((name) => (results.get(name)?.samples?.length ?? 0) > 0)
  return present.sort(
    (a, b) => median(results.get(b).samples.map(rateOf)) - median(results.get(a).samples.map(rateOf)),
  )[0]
}

function absence(result) {
  if (result === undefined) return 'not measured'
  return result.missing !== undefined ? `missing: ${result.missing}` : `failed: ${result.failure}`
}

function lineOf(row, unit, subject, otherName, results) {
  const mine = results.get(subject)
  const other = results.get(otherName)
  const mineCells = mine?.samples?.length
    ? [rateCell(unit, mine.samples), cpuCell(unit, mine.samples)]
    : [absence(mine), '–']
  const otherCells = other?.samples?.length
    ? [rateCell(unit, other.samples), cpuCell(unit, other.samples)]
    : [absence(other), '–']
  const ratio = {}
  if (mine?.samples?.length && other?.samples?.length) {
    ratio.rate = medianRatio(mine.samples, other.samples, rateOf)
    ratio.cpu = medianRatio(mine.samples, other.samples, cpuOf)
  }
  const bars = row.bars.filter(
    (bar) =>
      bar.of === subject &&
      (Array.isArray(bar.against) ? bestOf(bar.against, results) === otherName : bar.against === otherName),
  )
  const verdicts = bars.map(({ metric, comparison, limit }) =>
    ratio[metric] === undefined
      ? 'not measured'
      : compares(ratio[metric], comparison, limit)
        ? 'met'
        : '**missed**',
  )
  const barText = bars.map(
    ({ metric, comparison, limit, note }) =>
      `${WHAT[metric]} ${comparison} ${limit} ×${note ? ` (${note})` : ''}`,
  )
  const text = (value) => (value === undefined || !Number.isFinite(value) ? '–' : number(value, 2))
  return cells(
    ...[row.title, subject, ...mineCells, otherName, ...otherCells, text(ratio.rate), text(ratio.cpu)],
    ...[barText.join('; ') || '–', verdicts.join('; ') || '–'],
  )
}

const FLAT_GROWTH_MAX = 1.15

function memoryLine(row, results) {
  const { of, limitMiB } = row.memoryBar
  const memory = memoryOf(results.get(of)?.samples ?? [])
  const bar = `RSS of all its processes < ${limitMiB} MiB, flat`
  if (memory === undefined)
    return cells(
      `${row.title}: memory`,
      of,
      absence(results.get(of)),
      ...Array(6).fill('–'),
      bar,
      'not measured',
    )
  const peers = [...results].flatMap(([name, result]) => {
    const theirs = name === of ? undefined : memoryOf(result.samples ?? [])
    return theirs === undefined
      ? []
      : [`${name}: RSS ${number(theirs.rss, 0)}, PSS ${number(theirs.pss, 0)} MiB`]
  })
  const isMet = memory.rss < limitMiB && memory.growth <= FLAT_GROWTH_MAX
  return cells(
    ...[
      `${row.title}: memory`,
      of,
      `peak RSS ${number(memory.rss, 0)} MiB, PSS ${number(memory.pss, 0)} MiB`,
    ],
    ...[
      `second half / first half of a run: ${number(memory.growth, 2)}`,
      peers.join('; ') || '–',
      '–',
      '–',
      '–',
      '–',
      bar,
    ],
    isMet ? 'met' : '**missed**',
  )
}

const QUANTILES = { p50: 50, p95: 95, p99: 99 }

/** How long the answers of one contender took against another's, a line for each quantile, judged where there are limits. */
export function latencyLines(row, results, { of, against, limits }) {
  const [mine, other] = [results.get(of), results.get(against)]
  return Object.entries(QUANTILES).map(([name, percent]) => {
    const valueOf = ({ times }) => quantile(times, percent)
    const text = (result) =>
      result?.samples?.length ? `${number(median(result.samples.map(valueOf)), 2)} ms` : absence(result)
    const ratio = medianRatio(mine?.samples ?? [], other?.samples ?? [], valueOf)
    const limit = limits?.[name]
    const verdict = limit === undefined ? '' : `: ${ratio <= limit ? 'met' : '**missed**'}`
    const result = ratio === undefined ? 'not measured' : `${number(ratio, 2)} ×${verdict}`
    return cells(
      ...[`${row.title}: ${name} of the latency`, of, text(mine), '–', against, text(other), '–', '–', '–'],
      ...[limit === undefined ? '–' : `latency ≤ ${limit} ×`, result],
    )
  })
}

/** The lines of one row: its subject against every other contender, and the comparisons its bars ask for besides. */
export function rowLines(row, results) {
  if (row.lines !== undefined) return row.lines(row, results)
  const unit = UNITS[row.unit]
  const [first, ...others] = row.contenders.map(({ name }) => name)
  const pairs = row.pairs ?? others.map((other) => [first, other])
  const lines = pairs.map(([subject, other]) => lineOf(row, unit, subject, other, results))
  if (row.memoryBar !== undefined) lines.push(memoryLine(row, results))
  return lines
}

export const tableHead = () => [cells(...HEADER), cells(...HEADER.map(() => '---'))]
