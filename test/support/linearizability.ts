/**
 * Tells whether a history of concurrent operations could have come from one thing that does them one at a time, each at
 * some moment between its call and its answer: the search of Wing and Gong with the memory that Lowe added to it.
 */

export interface Operation<Input, Output> {
  readonly input: Input
  /** Absent: the answer was lost, so it may have happened at any time after its call, or never. */
  readonly output: Output | undefined
  readonly calledAt: number
  readonly answeredAt: number
}

export interface Model<State, Input, Output> {
  readonly initial: State
  /** The state afterwards; undefined when this answer cannot be given in this state. An absent answer allows any. */
  step(state: State, input: Input, output: Output | undefined): State | undefined
  /** Equal for equal states. */
  nameOf(state: State): string
}

interface Place<State> {
  readonly state: State
  /** Operations with answers that are placed: all before `low`, and these beyond it. */
  readonly low: number
  readonly beyond: ReadonlySet<number>
  /** Operations without answers that are placed. */
  readonly lost: ReadonlySet<number>
}

export function isLinearizable<State, Input, Output>(
  model: Model<State, Input, Output>,
  history: readonly Operation<Input, Output>[],
): boolean {
  const byCall = [...history].sort((a, b) => a.calledAt - b.calledAt)
  const answered = byCall.filter(({ output }) => output !== undefined)
  const unanswered = byCall.filter(({ output }) => output === undefined)
  const seen = new Set<string>()
  const open: Place<State>[] = [{ state: model.initial, low: 0, beyond: new Set(), lost: new Set() }]

  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (place.low === answered.length) return true
    const name = [model.nameOf(place.state), place.low, sorted(place.beyond), sorted(place.lost)].join('|')
    if (seen.has(name)) continue
    seen.add(name)
    open.push(...next(place))
  }
  return false

  /** What may come next: whatever was called before the first answer that is still to be accounted for. */
  function next(place: Place<State>): Place<State>[] {
    const found: Place<State>[] = []
    let firstAnswer = Infinity
    for (let index = place.low; index < answered.length; index += 1) {
      const { calledAt, answeredAt } = answered[index] ?? NOTHING
      if (calledAt > firstAnswer) break
      if (!place.beyond.has(index)) firstAnswer = Math.min(firstAnswer, answeredAt)
    }
    for (const [index, { input, calledAt }] of unanswered.entries()) {
      if (calledAt > firstAnswer) break
      if (place.lost.has(index)) continue
      const state = model.step(place.state, input, undefined)
      // What changes nothing may as well not have happened.
      if (state === undefined || model.nameOf(state) === model.nameOf(place.state)) continue
      found.push({ ...place, state, lost: new Set([...place.lost, index]) })
    }
    for (let index = place.low; index < answered.length; index += 1) {
      const operation = answered[index]
      if (operation === undefined || operation.calledAt > firstAnswer) break
      if (place.beyond.has(index)) continue
      const state = model.step(place.state, operation.input, operation.output)
      if (state !== undefined) found.push({ ...place, state, ...placed(place, index) })
    }
    return found
  }
}

const NOTHING = { calledAt: Infinity, answeredAt: Infinity }

function placed<State>(
  { low, beyond }: Place<State>,
  index: number,
): { low: number; beyond: ReadonlySet<number> } {
  const rest = new Set([...beyond, index])
  let first = low
  while (rest.delete(first)) first += 1
  return { low: first, beyond: rest }
}

function sorted(numbers: ReadonlySet<number>): string {
  return [...numbers].sort((a, b) => a - b).join(',')
}
