import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Running } from '../example-server.js'
import { startExample } from '../example-server.js'
import { readEvents } from '../feed/events.js'
import { isLong } from '../size.js'
import { places } from '../storages.js'

const server = { file: 'build/test/system/shared-server.js', said: /^at (http:\S+)/ }

const entries = isLong ? 100_000 : 200
const followers = isLong ? 20 : 3
const kills = isLong ? 40 : 1
const writers = 8

interface Seen {
  readonly id: string
  readonly deal: string
  readonly revision: number
}

/** Follows by events, cut off at random, from either server, until `isDone` and nothing more comes. */
async function follow (servers: readonly Running[], isDone: () => boolean, total: () => number): Promise<Seen[]> {
  const seen: Seen[] = []
  let cursor: string | undefined
  while (!isDone() || seen.length < total()) {
    const { url } = servers[Math.floor(Math.random() * servers.length)] as Running
    const feed = `${url}/rest/v1/deals/commands`
    try {
      // The first page begins at the first entry, a stream with what is new.
      if (cursor === undefined) {
        const page = await (await fetch(`${feed}?maxpagesize=1`)).json() as { items: Seen[], links: { follow: string } }
        cursor = new URL(page.links.follow, url).searchParams.get('after') as string
        seen.push(...page.items)
      }
      const stream = await readEvents(feed, { 'last-event-id': cursor })
      const cutOff = setTimeout(() => { stream.close() }, 20 + Math.random() * 500)
      for (let isOpen = true; isOpen;) {
        const next = await Promise.race([stream.take(1), stream.ended.then(() => undefined)])
        isOpen = next !== undefined && next.length > 0
        for (const { id, data } of next ?? []) {
          cursor = id
          seen.push(data as unknown as Seen)
        }
        if (isDone() && seen.length >= total()) break
      }
      clearTimeout(cutOff)
      stream.close()
    } catch {
      // The server was killed.
      await delay(20)
    }
  }
  return seen
}

for (const [name, makePlace] of Object.entries(places)) {
  t.test(`followers of two servers on one ${name}, which are killed`, async t => {
    const STORAGE = await makePlace(t)
    const start = async (): Promise<Running> => await startExample(t, { STORAGE }, server)
    const servers = await Promise.all([start(), start()])
    const ids = await makeDeals(servers)
    const done = new Set<string>()
    let isDone = false
    let total = Infinity
    const following = Array.from({ length: followers }, () => follow(servers, () => isDone, () => total))
    const killing = killAtRandom(t, servers, start, () => done.size)
    await Promise.all(ids.map(async (id, w) => {
      for (let n = 0; done.size < entries; n++) {
        const command = `${w}-${n}`
        const sent = { action: 'ChangeDealPrice', params: { newPrice: n + 1, reason: 'x' } }
        await sendUntilDone(servers, `/rest/v1/deals/${id}/commands/${command}`, sent)
        done.add(command)
      }
    }))
    await killing.stop()
    const all = await readAll(servers[0] as Running)
    total = all.length
    isDone = true
    t.ok(all.length >= entries, `${all.length} entries`)
    const known = new Set(all.map(({ id }) => id))
    t.ok([...done].every(id => known.has(id)), 'all that was acknowledged is there')
    for (const seen of await Promise.all(following)) {
      t.strictSame(seen.map(({ id }) => id), all.map(({ id }) => id), 'each once, in one order')
      for (const deal of ids) {
        const revisions = seen.filter(entry => entry.deal === deal).map(({ revision }) => revision)
        t.strictSame(revisions, Array.from(revisions, (_, index) => index + 1))
      }
    }
  })
}

async function makeDeals ([server]: readonly Running[]): Promise<string[]> {
  return await Promise.all(Array.from({ length: writers }, async (_, index) => {
    const made = await fetch(`${server?.url}/rest/v1/deals`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: `d${index}`, price: 0 })
    })
    return (await made.json() as { id: string }).id
  }))
}

async function sendUntilDone (servers: readonly Running[], path: string, body: object): Promise<void> {
  for (;;) {
    const { url } = servers[Math.floor(Math.random() * servers.length)] as Running
    try {
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(`${url}${path}`, { method: 'PUT', headers, body: JSON.stringify(body) })
      await answer.text()
      if (answer.ok) return
    } catch {
      await delay(20)
    }
  }
}

/** Kills while entries are written, at another moment each time. */
function killAtRandom (t: Test, servers: Running[], start: () => Promise<Running>, countDone: () => number) {
  const killing = (async () => {
    for (let n = 0; n < kills; n++) {
      while (countDone() < entries * (n + 1) / (kills + 1)) await delay(Math.random() * 20)
      const victim = n % 2
      servers[victim]?.stop('SIGKILL')
      await servers[victim]?.ended
      servers[victim] = await start()
    }
  })()
  return {
    async stop () {
      await killing
      t.ok(servers.length === 2)
    }
  }
}

async function readAll ({ url }: Running): Promise<Seen[]> {
  const text = await (await fetch(`${url}/rest/v1/deals/commands.ndjson`)).text()
  return text.trim().split('\n').map(line => JSON.parse(line) as Seen)
}
