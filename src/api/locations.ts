import { versionText } from '../model/version.js'
import type { Call } from './route.js'

/** The absolute address of a resource in the version of the request; each segment is encoded. */
export function locationOf(call: Call, ...segments: readonly string[]): string {
  const path = segments.map((segment) => encodeURIComponent(segment)).join('/')
  return `${call.api.baseUrl(call.incoming)}/api/v${versionText(call.version)}/${path}`
}
