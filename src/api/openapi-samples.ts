import type { Route } from './route.js'

/** A call as a person would type it. */
export interface CodeSample {
  readonly lang: 'Shell'
  readonly label: string
  readonly source: string
}

/** The curl lines of a route; the token is in the variable TOKEN. */
export function curlSamples(options: {
  route: Route
  /** The address with its parameters in braces. */
  url: string
  ids: Readonly<Record<string, string | undefined>>
  body: unknown
}): CodeSample[] {
  const { route, body } = options
  const url = options.url.replaceAll(/\{([a-z_]+)\}/g, (braces, name: string) => options.ids[name] ?? braces)
  const plain =
    body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quote(JSON.stringify(body))}`]
  const samples = route.doc.samples ?? [{ label: route.doc.summary, options: plain }]
  return samples.map(({ label, options: extra }) => {
    const method = route.method === 'GET' ? [] : [`-X ${route.method}`]
    const call = ['curl', ...method, quote(url)].join(' ')
    return {
      lang: 'Shell',
      label,
      source: [call, '-H "Authorization: Bearer $TOKEN"', ...extra].join(' \\\n  '),
    }
  })
}

/** One word for a POSIX shell, whatever is in it. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
