/**
 * The rules of shares, groups and invitations as a model that fits on a page. Each verb answers with the status that the
 * server must give; a refused one changes nothing. People are numbers, the last of them is the admin.
 */
export const WRITE = 1
export const MANAGE = 2
export type Bits = 0 | 1 | 2 | 3

export interface Membership {
  readonly isJoined: boolean
  /** Undefined: in through groups alone. */
  readonly direct: Bits | undefined
}

export interface Invitation {
  readonly permissions: Bits
  readonly by: number
}

export class Share {
  people = new Map<number, Membership>()
  invitations = new Map<number, Invitation>()
  groups = new Map<number, Bits>()
  isThere = true
}

export class Model {
  readonly shares: Share[] = []
  readonly groups: (Set<number> | undefined)[]

  constructor(
    readonly admin: number,
    groups: number,
  ) {
    this.groups = Array.from({ length: groups }, () => new Set<number>())
  }

  effective(share: Share, person: number): Bits | undefined {
    const membership = share.people.get(person)
    if (!share.isThere || membership?.isJoined !== true) return undefined
    let bits: number = membership.direct ?? 0
    for (const [group, permissions] of share.groups)
      if (this.groups[group]?.has(person) === true) bits |= permissions
    return bits as Bits
  }

  joined(share: Share): number[] {
    return [...share.people].filter(([, { isJoined }]) => isJoined).map(([person]) => person)
  }

  isVisible(share: Share, actor: number): boolean {
    return share.isThere && (actor === this.admin || this.effective(share, actor) !== undefined)
  }

  private manages(share: Share, actor: number): boolean {
    return actor === this.admin || ((this.effective(share, actor) ?? 0) & MANAGE) !== 0
  }

  private isDirect(share: Share, person: number): boolean {
    const membership = share.people.get(person)
    return membership?.isJoined === true && membership.direct !== undefined
  }

  /** Undefined when the actor may go on; what the path names must be there before the right to change it counts. */
  private refusal(share: Share, actor: number, isThere = true): 403 | 404 | undefined {
    if (!this.isVisible(share, actor) || !isThere) return 404
    return this.manages(share, actor) ? undefined : 403
  }

  /** Does it, unless a share then has people and no owner; a share without people is gone. */
  private attempt(shares: readonly Share[], change: () => void, status: number): number {
    const copies = shares.map((share) => ({
      people: new Map(share.people),
      groups: new Map(share.groups),
      isThere: share.isThere,
    }))
    const members = this.groups.map((group) => (group === undefined ? undefined : new Set(group)))
    change()
    for (const share of shares) {
      for (const [person, { isJoined, direct }] of share.people) {
        const hasGroup = [...share.groups.keys()].some((group) => this.groups[group]?.has(person) === true)
        if (isJoined && direct === undefined && !hasGroup) share.people.delete(person)
      }
    }
    const isOrphaned = (share: Share): boolean =>
      share.isThere &&
      this.joined(share).length > 0 &&
      !this.joined(share).some((person) => ((this.effective(share, person) ?? 0) & MANAGE) !== 0)
    if (shares.some(isOrphaned)) {
      shares.forEach((share, index) => Object.assign(share, copies[index]))
      this.groups.splice(0, this.groups.length, ...members)
      return 409
    }
    for (const share of shares) {
      if (!share.isThere || this.joined(share).length > 0) continue
      share.isThere = false
      share.invitations.clear()
      share.groups.clear()
      share.people.clear()
    }
    return status
  }

  create(actor: number): number {
    const share = new Share()
    share.people.set(actor, { isJoined: true, direct: 3 })
    this.shares.push(share)
    return 201
  }

  addMember(share: Share, actor: number, person: number, permissions: Bits): number {
    const refusal = this.refusal(share, actor)
    if (refusal !== undefined) return refusal
    if (this.isDirect(share, person)) return 409
    share.people.set(person, { isJoined: true, direct: permissions })
    share.invitations.delete(person)
    return 201
  }

  setMember(share: Share, actor: number, person: number, permissions: Bits): number {
    const refusal = this.refusal(share, actor, this.isDirect(share, person))
    if (refusal !== undefined) return refusal
    const change = (): void => void share.people.set(person, { isJoined: true, direct: permissions })
    return this.attempt([share], change, 200)
  }

  removeMember(share: Share, actor: number, person: number): number {
    if (person === actor) return this.leave(share, actor)
    const refusal = this.refusal(share, actor, this.isDirect(share, person))
    if (refusal !== undefined) return refusal
    const change = (): void => void share.people.set(person, { isJoined: true, direct: undefined })
    return this.attempt([share], change, 204)
  }

  leave(share: Share, actor: number): number {
    if (this.effective(share, actor) === undefined) return 404
    const change = (): void => void share.people.set(actor, { isJoined: false, direct: undefined })
    const status = this.attempt([share], change, 204)
    // Who came in through a group may have had an invitation besides; who left has nothing to accept.
    if (status === 204) share.invitations.delete(actor)
    return status
  }

  invite(share: Share, actor: number, person: number, permissions: Bits): number {
    const refusal = this.refusal(share, actor)
    if (refusal !== undefined) return refusal
    if (this.isDirect(share, person)) return 409
    share.invitations.set(person, { permissions, by: actor })
    return 201
  }

  revoke(share: Share, actor: number, person: number): number {
    const refusal = this.refusal(share, actor, share.invitations.has(person))
    if (refusal !== undefined) return refusal
    share.invitations.delete(person)
    return 204
  }

  accept(share: Share, actor: number): number {
    const invitation = share.invitations.get(actor)
    if (invitation === undefined) return 404
    share.people.set(actor, { isJoined: true, direct: invitation.permissions })
    share.invitations.delete(actor)
    return 201
  }

  ignore(share: Share, actor: number): number {
    return share.invitations.delete(actor) ? 204 : 404
  }

  addGroup(share: Share, actor: number, group: number, permissions: Bits): number {
    const refusal = this.refusal(share, actor)
    if (refusal !== undefined) return refusal
    const people = this.groups[group]
    if (people === undefined) return 404
    if (share.groups.has(group)) return 409
    share.groups.set(group, permissions)
    for (const person of people) this.letIn(share, person)
    return 201
  }

  /** A group that comes, or that one comes into, lets in also those who had left. */
  private letIn(share: Share, person: number): void {
    if (share.people.get(person)?.isJoined !== true)
      share.people.set(person, { isJoined: true, direct: undefined })
  }

  setGroup(share: Share, actor: number, group: number, permissions: Bits): number {
    const refusal = this.refusal(share, actor, share.groups.has(group))
    if (refusal !== undefined) return refusal
    return this.attempt([share], () => void share.groups.set(group, permissions), 200)
  }

  removeGroup(share: Share, actor: number, group: number): number {
    const refusal = this.refusal(share, actor, share.groups.has(group))
    if (refusal !== undefined) return refusal
    return this.attempt([share], () => void share.groups.delete(group), 204)
  }

  private sharesOf(group: number): Share[] {
    return this.shares.filter((share) => share.isThere && share.groups.has(group))
  }

  enter(actor: number, group: number, person: number): number {
    if (actor !== this.admin) return 403
    const people = this.groups[group]
    if (people === undefined) return 404
    if (people.has(person)) return 409
    people.add(person)
    for (const share of this.sharesOf(group)) this.letIn(share, person)
    return 201
  }

  exit(actor: number, group: number, person: number): number {
    if (actor !== this.admin) return 403
    if (this.groups[group]?.has(person) !== true) return 404
    return this.attempt(this.sharesOf(group), () => void this.groups[group]?.delete(person), 204)
  }

  dissolve(actor: number, group: number): number {
    if (actor !== this.admin) return 403
    if (this.groups[group] === undefined) return 404
    const shares = this.sharesOf(group)
    const change = (): void => {
      this.groups[group] = undefined
      for (const share of shares) share.groups.delete(group)
    }
    return this.attempt(shares, change, 204)
  }

  /** The admin inherits what would be without an owner. */
  deletePerson(actor: number, person: number): number {
    if (actor !== this.admin) return 403
    for (const group of this.groups) group?.delete(person)
    for (const share of this.shares) {
      share.people.delete(person)
      share.invitations.delete(person)
      const change = (): void => undefined
      if (!share.isThere || this.attempt([share], change, 200) !== 409) continue
      share.people.set(this.admin, { isJoined: true, direct: 3 })
      share.invitations.delete(this.admin)
    }
    return 200
  }
}
