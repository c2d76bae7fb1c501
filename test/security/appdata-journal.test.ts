import { describe, expect, it } from 'vitest'
import { useServer } from '../api/content/support.js'
import { ENGINES } from '../support/engines.js'

describe.each(ENGINES)('the folder of an application on %s', (engine) => {
  const server = useServer(engine)

  it('does not come into a tree without a line in the change log, whoever asked for it first', async () => {
    const email = await server().addUser()
    const { id: app } = await server().addApp()
    const api = server().client(await server().addToken(email, 'files.appdata', { app }))
    const { id } = (await api.get('/folders/appdata')).json
    const changes = await server().installation.db.read((tx) =>
      tx.all<{ subject: string; after: string; device: string; origin: string }>(
        `SELECT subject, after, device, origin FROM changes WHERE action = 'folder.create' ORDER BY seq`,
      ),
    )
    expect(changes.map(({ after }) => (JSON.parse(after) as { name: string }).name)).toEqual([
      '.appdata',
      app,
    ])
    expect(changes[1]?.subject).toBe(id)
    expect(changes.every(({ device, origin }) => device !== '' && origin !== '')).toBe(true)
  })
})
