/** Versions of the API. They are compared here and nowhere else, as numbers: 1.10 is newer than 1.3. */
export type Version = { readonly major: number; readonly minor: number }

export const V1_0: Version = { major: 1, minor: 0 }
export const V1_1: Version = { major: 1, minor: 1 }
export const V1_2: Version = { major: 1, minor: 2 }
export const V1_3: Version = { major: 1, minor: 3 }
export const V1_4: Version = { major: 1, minor: 4 }

const FORM = /^v(0|[1-9]\d*)\.(0|[1-9]\d*)$/

/** Reads the segment of a path, such as `v1.3`. */
export function parseVersion(segment: string): Version | undefined {
  const match = FORM.exec(segment)
  if (match === null) return undefined
  return { major: Number(match[1]), minor: Number(match[2]) }
}

/** Negative when a is older than b, zero when they are equal, positive when a is newer. */
export function compareVersions(a: Version, b: Version): number {
  return a.major - b.major || a.minor - b.minor
}

/** Both ends are included: `until` is the last version that still has the thing. */
export function within(version: Version, since: Version, until?: Version): boolean {
  if (compareVersions(version, since) < 0) return false
  return until === undefined || compareVersions(version, until) <= 0
}

/** The value of the newest row that is not newer than the version, whatever the order of the rows. */
export function at<T>(version: Version, table: ReadonlyArray<readonly [since: Version, value: T]>): T {
  let newest: readonly [since: Version, value: T] | undefined
  for (const row of table) {
    if (compareVersions(row[0], version) > 0) continue
    if (newest === undefined || compareVersions(row[0], newest[0]) > 0) newest = row
  }
  if (newest === undefined) throw new Error(`no row for version ${versionText(version)}`)
  return newest[1]
}

/** Such as `1.3`. */
export function versionText(version: Version): string {
  return `${version.major}.${version.minor}`
}
