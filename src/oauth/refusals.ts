import { Failure, type FailureKind } from '../model/failures.js'
import { REFUSALS, TEXTS } from './texts.js'

/** A refusal whose message is one of the pages' own texts. */
export class PageFailure extends Failure {}

const EXPLAINED: Partial<Record<FailureKind, string>> = TEXTS.explained

/** What a person reads of a refusal: words of these pages, never the message that programs get. */
export function told(failure: Failure): string {
  if (failure instanceof PageFailure) return failure.message
  for (const [pattern, words] of REFUSALS) {
    const found = pattern.exec(failure.message)
    if (found !== null) return words(...found.slice(1))
  }
  return EXPLAINED[failure.kind] ?? TEXTS.errors.unexplained
}
