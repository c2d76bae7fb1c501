// A client process: opens its connections, says it is ready, and on "go" repeats one exchange on each of them until
// the time or the count is used up. An exchange is one completed unit of work, of one request or of several.
import { randomBytes } from 'node:crypto'
import { headerOf, jsonOf, openConnection } from './connection.mjs'

const JSON_TYPE = 'Content-Type: application/json\r\n'
const CONTENT_TYPE = 'Content-Type: application/octet-stream\r\n'
const TUS = 'Tus-Resumable: 1.0.0\r\n'

function expectStatus(answer, ...statuses) {
  if (!statuses.includes(answer.status))
    throw new Error(`status ${answer.status}: ${answer.body.toString().slice(0, 300)}`)
  return answer
}

/** The one parent, or the parents of a list in turn. */
function parentOf(job, index) {
  return job.parent ?? job.parents[(index * 7919 + job.process) % job.parents.length]
}

const EXCHANGES = {
  get: (job) => async (connection, index) => {
    const path = job.paths[(index * 7919 + job.process * 104729) % job.paths.length]
    expectStatus(await connection.request('GET', path, job.headers), 200)
  },

  createFile: (job) => {
    const content = job.contentBytes === undefined ? undefined : randomBytes(job.contentBytes)
    return async (connection, index) => {
      const body = JSON.stringify({
        name: `${job.prefix}-${job.process}-${index}.bin`,
        parent: parentOf(job, index),
      })
      const answer = await connection.request('POST', `${job.api}/files`, job.headers + JSON_TYPE, body)
      const { id } = jsonOf(expectStatus(answer, 201))
      if (content === undefined) return
      content.writeDoubleLE(index, 0)
      expectStatus(
        await connection.request(
          'PUT',
          `${job.api}/files/${id}/content`,
          job.headers + CONTENT_TYPE,
          content,
        ),
        204,
      )
    }
  },

  createFolder: (job) => async (connection, index) => {
    const body = JSON.stringify({
      name: `${job.prefix}-${job.process}-${index}`,
      parent: parentOf(job, index),
    })
    expectStatus(await connection.request('POST', `${job.api}/folders`, job.headers + JSON_TYPE, body), 201)
  },

  rename: (job) => async (connection, index) => {
    // Each process renames its own objects, so that no two requests want the same one at once.
    const own = job.ids.length / job.processes
    const id = job.ids[Math.floor(own * job.process) + (index % Math.floor(own))]
    const body = JSON.stringify({ name: `${job.prefix}-${job.process}-${index}` })
    expectStatus(
      await connection.request('PUT', `${job.api}/folders/${id}`, job.headers + JSON_TYPE, body),
      200,
    )
  },

  move: (job) => async (connection, index) => {
    const body = JSON.stringify({ parent: job.parents[index % job.parents.length] })
    const path = `${job.api}/folders/${job.ids[0]}`
    expectStatus(await connection.request('PUT', path, job.headers + JSON_TYPE, body), 200)
  },

  tusUpload: (job) => {
    const content = randomBytes(job.contentBytes)
    return async (connection, index) => {
      const create = await connection.request(
        'POST',
        '/files',
        `${TUS}Upload-Length: ${content.length}\r\n`,
        '',
      )
      const location = headerOf(expectStatus(create, 201), 'location')
      content.writeDoubleLE(index, 0)
      const headers = `${TUS}Upload-Offset: 0\r\nContent-Type: application/offset+octet-stream\r\n`
      const { pathname } = new URL(location, job.url)
      expectStatus(await connection.request('PATCH', pathname, headers, content), 204)
    }
  },
}

async function work(job, connections) {
  const exchange = EXCHANGES[job.exchange](job)
  const share =
    Math.floor((job.count ?? 0) / job.processes) + (job.process < (job.count ?? 0) % job.processes ? 1 : 0)
  const deadline = job.seconds === undefined ? Infinity : performance.now() + job.seconds * 1000
  let next = 0
  let completed = 0
  const began = performance.now()
  const client = async (connection) => {
    while (performance.now() < deadline && (job.count === undefined || next < share)) {
      await exchange(connection, next++)
      completed++
    }
  }
  await Promise.all(connections.map(client))
  return { completed, seconds: (performance.now() - began) / 1000 }
}

process.once('message', async (job) => {
  try {
    const connections = await Promise.all(
      Array.from({ length: job.connections }, () => openConnection(job.url)),
    )
    process.once('message', async () => {
      try {
        process.send({ result: await work(job, connections) })
      } catch (error) {
        process.send({ failure: error.message })
      }
      process.disconnect()
      for (const connection of connections) connection.close()
    })
    process.send({ ready: true })
  } catch (error) {
    process.send({ failure: error.message })
    process.disconnect()
  }
})
