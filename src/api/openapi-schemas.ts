/** The small parts that schemas are put together from. */
import { versionText, type Version } from '../model/version.js'
import type { Schema } from './fields.js'
import type { Resource } from './resources.js'

/** A resource as one version has it: the schema, and an example that the version's own view has written. */
export interface ResourceDoc {
  readonly schema: Schema
  readonly example: unknown
}

/** Such as `Folder_1_3`. */
export function schemaName(resource: Resource, version: Version): string {
  return `${resource}_${versionText(version).replace('.', '_')}`
}

export function schemaReference(resource: Resource, version: Version): Schema {
  return { $ref: `#/components/schemas/${schemaName(resource, version)}` }
}

/** A row names only resources of the versions that it is served in. */
export function resourceDoc(
  resources: Readonly<Partial<Record<Resource, ResourceDoc>>>,
  name: Resource,
): ResourceDoc {
  const found = resources[name]
  if (found === undefined) throw new Error(`no resource ${name} in this version`)
  return found
}

export function object(properties: Readonly<Record<string, Schema>>, required: readonly string[]): Schema {
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required }) }
}
