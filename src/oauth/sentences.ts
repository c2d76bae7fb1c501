/** Messages are written for an error object, without a capital letter and a full stop. */
export function sentence(text: string): string {
  const begun = /^[a-z]+_[a-z_]+\b/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(begun) ? begun : `${begun}.`
}
