import t from 'tap'
import type { Running } from '../example-server.js'
import { startExample } from '../example-server.js'
import { startServer } from '../postgres/server.js'
import { isLong } from '../size.js'
import { places } from '../storages.js'
import { check, newDeals, underLoad, untilAnswered } from './retrying-clients.js'

// That a killed server has lost nothing, processes.test.ts shows too.
const kills = isLong ? 20 : 1

for (const [name, makePlace] of isLong ? Object.entries(places) : []) {
  t.test(`the server killed under load, ${name}`, async t => {
    const env = { STORAGE: await makePlace(t) }
    let server: Running = await startExample(t, env)
    const clients = await newDeals(server.url)
    for (let n = 0; n < kills; n++) {
      const { url } = server
      const writing = Promise.all(clients.map(client => client.write(url)))
      await underLoad(clients)
      server.stop('SIGKILL')
      await Promise.all([writing, server.ended])
      server = await startExample(t, env)
    }
    await untilAnswered(server.url, clients)
    t.ok(clients.every(({ sent }) => sent.length > kills), 'there was a load')
    await check(t, server.url, clients)
  })
}

t.test('PostgreSQL itself killed under load', async t => {
  const postgres = await startServer()
  t.teardown(() => postgres.dispose())
  const server = await startExample(t, { STORAGE: postgres.url })
  const clients = await newDeals(server.url)
  for (let n = 0; n < kills; n++) {
    const writing = Promise.all(clients.map(client => client.write(server.url)))
    await underLoad(clients)
    await postgres.kill()
    await writing
    const away = await fetch(`${server.url}/customers/1`)
    t.equal(away.status, 503)
    t.ok(away.headers.get('retry-after'))
    await postgres.start()
    await untilAnswered(server.url, clients)
  }
  t.ok(clients.every(({ sent }) => sent.length > kills), 'there was a load')
  await check(t, server.url, clients)
})
