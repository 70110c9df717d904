import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { startExample } from '../example-server.js'
import type { Server } from '../postgres/server.js'
import { findFreePort, runSql, startServer } from '../postgres/server.js'
import { isLong } from '../size.js'
import { check, newDeals, underLoad, untilAnswered } from './retrying-clients.js'

const promotions = isLong ? 10 : 1
const settings = ['wal_keep_size=256MB']

/** A standby that every commit waits for, from when this returns. */
async function addStandby (primary: Server, port: number): Promise<Server> {
  const standby = await startServer({ primary, port, settings })
  await runSql(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'")
  await runSql(primary, 'SELECT pg_reload_conf()')
  const isSynchronous = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"
  while ((await runSql(primary, isSynchronous)).length === 0) await delay(20)
  return standby
}

const promote = (standby: Server): Promise<unknown> => runSql(standby, 'SELECT pg_promote()')

// In the second, the old primary goes on until it is fenced; its commits wait for a standby that is none any more.
const failovers: readonly ((primary: Server, standby: Server) => Promise<unknown>)[] = [
  async (primary, standby) => { await primary.kill(); await promote(standby) },
  async (primary, standby) => { await promote(standby); await delay(100); await primary.kill() },
  async (primary, standby) => { await primary.stop(); await promote(standby) }
]

t.test('a standby promoted under load: nothing is lost or done twice, without a restart', async t => {
  const ports = [await findFreePort(), await findFreePort()] as const
  let primary = await startServer({ port: ports[0], settings })
  let standby = await addStandby(primary, ports[1])
  t.teardown(() => Promise.all([primary.dispose(), standby.dispose()]))
  const hosts = ports.map(port => `127.0.0.1:${port}`).join()
  const server = await startExample(t, { STORAGE: `postgres://postgres:password@${hosts}/postgres` })
  const clients = await newDeals(server.url)
  for (let n = 0; n < promotions; n++) {
    const writing = Promise.all(clients.map(client => client.write(server.url)))
    await underLoad(clients)
    const began = performance.now()
    await failovers[n % failovers.length]?.(primary, standby)
    const promoted = performance.now()
    for (const client of clients) client.stop()
    await writing
    await untilAnswered(server.url, clients)
    const seconds = [promoted, performance.now()].map(at => `${((at - began) / 1000).toFixed(2)} s`)
    t.comment(`promoted after ${seconds[0]}, all clients answered after ${seconds[1]}`)
    const old = primary
    primary = standby
    await old.dispose()
    standby = await addStandby(primary, ports[(n % 2) as 0 | 1])
  }
  t.ok(clients.every(({ sent }) => sent.length > promotions), 'there was a load')
  await check(t, server.url, clients)
})
