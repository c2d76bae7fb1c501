import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { useServer } from '../content/support.js'
import { ok, type Json } from './support.js'

const PEOPLE = 100_000
const AT_ONCE = 1000
const MEMORY_BYTES_MAX = 450 * 1024 * 1024

describe.each(ENGINES)('a hundred thousand users on %s', (engine) => {
  const server = useServer(engine)

  /** Accounts as rows: making so many by requests would prove nothing else. */
  async function fill(): Promise<void> {
    for (let from = 0; from < PEOPLE; from += AT_ONCE) {
      const numbers = Array.from({ length: AT_ONCE }, (_, index) => from + index)
      const id = (number: number): string => `'${number.toString(16).padStart(32, '0')}'`
      await server().installation.db.write(async (tx) => {
        const stores = numbers.map((number) => `(${id(number)}, 'root', 0)`)
        await tx.run(`INSERT INTO stores (sid, kind, created_ms) VALUES ${stores.join()}`)
        const users = numbers.map(
          (number) => `(${id(number)}, 'mass${number}@x.test', 'First', 'Last', ${id(number)}, 0)`,
        )
        await tx.run(
          `INSERT INTO users (id, email, first_name, last_name, root_sid, created_ms) VALUES ${users.join()}`,
        )
      })
    }
  }

  test(
    'are listed whole while the memory of the server stays bounded [LIMIT-3]',
    { timeout: 180_000 },
    async () => {
      const { api } = await server().person('user.read')
      await fill()
      const answers = await Promise.all([1, 2, 3].map(() => api.get('/users?limit=0')))
      for (const answer of answers) {
        const page = ok(answer, 200).json as unknown as { has_more: boolean; data: Json[] }
        expect([page.has_more, page.data.length]).toEqual([false, PEOPLE + 1])
      }
      const status = await readFile(`/proc/${server().pid}/status`, 'utf8')
      const peakKib = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1])
      expect(peakKib * 1024).toBeLessThan(MEMORY_BYTES_MAX)
    },
  )
})
