import { Failure } from './failures.js'

/** What a member of a shared folder may do beyond reading, as bits: unions are then a single operation. */
export const WRITE = 1
export const MANAGE = 2
export const OWNER = WRITE | MANAGE

export type Permission = 'WRITE' | 'MANAGE'

const BITS: ReadonlyMap<unknown, number> = new Map<Permission, number>([
  ['WRITE', WRITE],
  ['MANAGE', MANAGE],
])

/** The bits of a JSON list of permissions, in any order and with repetitions. */
export function parsePermissions(value: unknown, key = 'permissions'): number {
  if (value === undefined || value === null) throw new Failure('badArgs', `${key} is missing`)
  if (!Array.isArray(value)) throw new Failure('badArgs', `${key} must be a list`)
  return value.reduce<number>((bits, element) => {
    const bit = BITS.get(element)
    if (bit === undefined) throw new Failure('badArgs', `${key} may hold WRITE and MANAGE and nothing else`)
    return bits | bit
  }, 0)
}

/** Always in the same order. */
export function permissionNames(bits: number): Permission[] {
  const names: Permission[] = []
  if ((bits & WRITE) !== 0) names.push('WRITE')
  if ((bits & MANAGE) !== 0) names.push('MANAGE')
  return names
}

export function mayWrite(bits: number): boolean {
  return (bits & WRITE) !== 0
}

export function mayManage(bits: number): boolean {
  return (bits & MANAGE) !== 0
}
