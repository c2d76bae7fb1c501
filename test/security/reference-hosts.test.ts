import { describe, expect, it } from 'vitest'
import { openApi } from '../../src/api/openapi.js'
import { consoleDoor } from '../../src/console/pages.js'
import { referencePage } from '../../src/console/reference.js'
import { replyEmpty } from '../../src/http/reply.js'
import { V1_3 } from '../../src/model/version.js'
import { ask, request, startServer, type TestServer } from '../http/support.js'

const plain = (baseUrl: string): object => openApi({ versions: [V1_3], baseUrl })

/** Hosts as strangers may make them up, with everything that means something in a page or in JSON text. */
const HOSTS = ['a.test', 'b.test:8443', "c'&.test", '[::1]:9', '$&.$1.test']

describe('the reference', () => {
  it('is made once, not once for every Host that a stranger thinks of, and names each of them all the same', async () => {
    let made = 0
    const door = consoleDoor({
      document: (baseUrl) => {
        made += 1
        return plain(baseUrl)
      },
      baseUrl: ({ req }) => `https://${req.headers.host ?? ''}`,
    })
    const server = await startServer((exchange) => {
      if (!door(exchange)) replyEmpty(exchange, 404)
      return Promise.resolve()
    })
    for (const host of HOSTS) {
      // No quote ends the quotes of a line that is meant for a shell.
      const base = `https://${host.replaceAll("'", '%27')}`
      const page = await get(server, '/docs', host)
      expect(page).toBe(referencePage(plain(base)))
      expect(JSON.parse(await get(server, '/openapi.json', host))).toEqual(
        JSON.parse(JSON.stringify(plain(base))),
      )
    }
    expect(made).toBe(1)
  })
})

async function get(server: TestServer, path: string, host: string): Promise<string> {
  const answer = await ask(
    server,
    request(`GET ${path}`).replace(/Host: [^\r]*/, () => `Host: ${host}`),
  )
  expect(answer.status).toBe(200)
  return answer.body.toString()
}
