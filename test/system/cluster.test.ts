import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import t from 'tap'
import type { Running } from '../example-server.js'
import { startExample } from '../example-server.js'
import { isLong } from '../size.js'
import { places } from '../storages.js'

const example = { file: 'build/examples/cluster.js', said: /documentation +(http:\/\/\S+)\/documentation/ }
const clients = 4
const restarts = isLong ? 3 : 1
// The servers close connections that are idle for ten seconds, and say so in each response.
const idleMilliseconds = 5000

/** A client with one connection that it keeps as long as it can. */
interface Client {
  /** Connections that the server asked to close. */
  asked: number
  /** Requests whose connection was closed before the response: the client sends them again, as they are idempotent. */
  resent: number
  send (method: string, path: string, body?: object): Promise<Answer>
}

interface Answer { readonly status: number | undefined, readonly text: string }

function openClient (t: Test, url: string): Client {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  let answered = performance.now()
  return {
    asked: 0,
    resent: 0,
    async send (method, path, body) {
      const headers = body === undefined ? {} : { 'content-type': 'application/json' }
      const request = http.request(`${url}${path}`, { method, agent, headers })
      request.end(body === undefined ? undefined : JSON.stringify(body))
      try {
        const [response] = await once(request, 'response') as [http.IncomingMessage]
        let text = ''
        for await (const chunk of response.setEncoding('utf8')) text += chunk
        answered = performance.now()
        if (response.headers.connection === 'close') this.asked++
        return { status: response.statusCode, text }
      } catch (error) {
        // Only a machine that stood still lets a connection become idle. No other one may be cut.
        if (!request.reusedSocket || performance.now() - answered < idleMilliseconds) throw error
        this.resent++
        return await this.send(method, path, body)
      }
    }
  }
}

const until = async (isSo: () => boolean): Promise<void> => { while (!isSo()) await delay(20) }

const readyWorkers = (primary: Running) => (): string[] =>
  [...primary.output().matchAll(/^Worker (\d+) is ready$/gm)].map(([, pid]) => pid as string)

// To start workers takes long.
for (const [name, makePlace] of Object.entries(places).slice(0, isLong ? undefined : 1)) {
  t.test(`workers on one ${name} are replaced under load`, async t => {
    const primary = await startExample(t, { STORAGE: await makePlace(t), WORKERS: '2' }, example)
    const ready = readyWorkers(primary)
    await until(() => ready().length === 2)

    const over = new AbortController()
    const runs = Array.from({ length: clients }, async () => {
      const client = openClient(t, primary.url)
      const created = await client.send('POST', '/rest/v1/deals', { name: 'a deal', price: 0 })
      const deal = (JSON.parse(created.text) as { id: string }).id
      const sent: string[] = []
      const refused: Answer[] = []
      while (!over.signal.aborted) {
        const id = randomUUID()
        const command = { deal, action: 'ChangeDealPrice', params: { newPrice: sent.length + 1, reason: 'load' } }
        sent.push(id)
        const changed = await client.send('PUT', `/rest/commands/${id}`, command)
        // A connection without a request is the one that a careless restart would cut.
        await delay(Math.random() * 80)
        const read = await client.send('GET', `/rest/v1/deals/${deal}`)
        await delay(Math.random() * 80)
        refused.push(...[changed, read].filter(({ status }) => status !== 200 && status !== 201))
      }
      return { client, deal, sent, refused }
    })
    const loading = Promise.all(runs)
    const restarting = (async () => {
      for (let count = 1; count <= restarts; count++) {
        primary.stop('SIGHUP')
        await until(() => primary.output().split('All workers are replaced').length > count || over.signal.aborted)
      }
    })().finally(() => over.abort())
    const [done] = await Promise.all([loading.finally(() => over.abort()), restarting])

    t.equal(new Set(ready()).size, 2 + 2 * restarts, 'each worker was replaced each time')
    const sum = (count: (run: typeof done[number]) => number): number => done.reduce((all, run) => all + count(run), 0)
    t.comment(`${sum(run => run.sent.length)} commands, ${sum(run => run.client.resent)} requests sent again`)
    const reader = openClient(t, primary.url)
    for (const { client, deal, sent, refused } of done) {
      t.strictSame(refused, [], 'each request was served')
      t.ok(client.asked + client.resent >= restarts, 'the workers asked for the end of each connection')
      const { text } = await reader.send('GET', `/rest/v1/deals/${deal}/commands.ndjson`)
      const log = text.trim().split('\n').slice(1).map(line => JSON.parse(line) as object)
      t.match(log, sent.map((id, index) => ({ id, revision: index + 2 })), 'each command was done once, in order')
      t.equal(log.length, sent.length)
    }

    primary.stop('SIGTERM')
    t.equal(await primary.ended, 0)
  })
}

t.test('a worker that dies is replaced', async t => {
  const primary = await startExample(t, { WORKERS: '1' }, example)
  const ready = readyWorkers(primary)
  await until(() => ready().length === 1)
  process.kill(Number(ready()[0]), 'SIGKILL')
  await until(() => ready().length === 2)
  t.match(primary.output(), `Worker ${ready()[0]} ended with SIGKILL: starting another one`)
  primary.stop('SIGINT')
  t.equal(await primary.ended, 0)
})

t.test('a first worker that cannot start ends the cluster', async t => {
  await t.rejects(startExample(t, { PORT: 'http', WORKERS: '2' }, example), {
    message: /^it ended with 1: PORT is "http", but must be an integer from 0 to 65535\n$/
  })
})
