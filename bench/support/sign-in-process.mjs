// A client process in the place of many browsers: each has opened the sign-in page; on "go" all send their forms at once.
import { openConnection } from './connection.mjs'

const FORM = 'Content-Type: application/x-www-form-urlencoded\r\n'

async function openPage(url) {
  const connection = await openConnection(url)
  const { status, head, body } = await connection.request('GET', '/sign-in', 'Accept: text/html\r\n')
  const token = /name="form_token" value="([^"]+)"/.exec(body.toString())?.[1]
  const cookie = /\r\nset-cookie: *(__Host-form=[^;]+)/i.exec(head)?.[1]
  if (status !== 200 || token === undefined || cookie === undefined)
    throw new Error(`the sign-in page answered ${status}`)
  return async ({ email, password }) => {
    const form = new URLSearchParams({ form_token: token, next: '/account', email, password }).toString()
    const headers = `${FORM}Origin: ${url}\r\nSec-Fetch-Site: same-origin\r\nCookie: ${cookie}\r\n`
    const answer = await connection.request('POST', '/sign-in', headers, form)
    connection.close()
    if (answer.status !== 303 || !/\r\nset-cookie: *__Host-session=[0-9a-f]/i.test(answer.head))
      throw new Error(`a sign-in was answered with ${answer.status}`)
  }
}

process.once('message', async ({ url, people }) => {
  try {
    const send = []
    // A few at a time, because a crowd of handshakes is not what is measured.
    for (let index = 0; index < people.length; index += 10)
      send.push(...(await Promise.all(people.slice(index, index + 10).map(() => openPage(url)))))
    process.once('message', async () => {
      try {
        const began = performance.now()
        await Promise.all(people.map((person, index) => send[index](person)))
        process.send({ seconds: (performance.now() - began) / 1000 })
      } catch (error) {
        process.send({ failure: error.message })
      }
    })
    process.send({ ready: true })
  } catch (error) {
    process.send({ failure: error.message })
  }
})
