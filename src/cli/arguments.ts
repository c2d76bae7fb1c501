import { UsageError } from './settings.js'

/** A whole number as an argument. */
export function wholeNumber(text: string, unit: 'bytes' | 'seconds'): number {
  const number = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number))
    throw new UsageError(`${text} is no number of ${unit}`)
  return number
}
