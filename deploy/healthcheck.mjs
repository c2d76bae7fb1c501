// Asks the node of this container whether it is ready; exit status 0 if so. The connection stays within the container,
// so the certificate, which is for the name that clients use, is not compared.
import { request as plain } from 'node:http'
import { request as secure } from 'node:https'

const ANSWER_WAIT_MAX_MS = 4000

const port = process.env.STARLING_PORT ?? '8443'
const isBehindProxy = ['on', 'true', '1'].includes(process.env.STARLING_BEHIND_PROXY ?? 'off')
const options = {
  host: '127.0.0.1',
  port,
  path: '/readyz',
  timeout: ANSWER_WAIT_MAX_MS,
  headers: { Host: `localhost:${port}`, 'X-Forwarded-Proto': 'https' },
}

function end(status, text) {
  process.stdout.write(`${text}\n`)
  process.exit(status)
}

const asking = isBehindProxy ? plain(options) : secure({ ...options, rejectUnauthorized: false })
asking.on('response', (answer) => end(answer.statusCode === 200 ? 0 : 1, `status ${answer.statusCode}`))
asking.on('timeout', () => end(1, 'no answer in time'))
asking.on('error', (error) => end(1, error.message))
asking.end()
