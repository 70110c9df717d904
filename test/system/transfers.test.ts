import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import type { Running } from '../example-server.js'
import { startExample } from '../example-server.js'
import { startServer } from '../postgres/server.js'

const places: Record<string, () => Promise<{ url: string, dispose: () => Promise<void> }>> = {
  async sqlite () {
    const folder = await mkdtemp(join(tmpdir(), 'dealbook-transfers-'))
    return { url: `sqlite:${join(folder, 'accounts.db')}`, dispose: () => rm(folder, { recursive: true }) }
  },
  postgres: startServer
}

const writers = 32
const opening = 100

/** A transfer that is sent under the same id until it has an answer. */
interface Transfer {
  readonly id: string
  readonly account: string
  readonly params: { readonly to: string, readonly amount: number }
  status?: number
}

for (const [name, open] of Object.entries(places)) {
  t.test(`transfers by two servers on one ${name}, of which one is killed again and again`, async t => {
    const { url: STORAGE, dispose } = await open()
    t.teardown(dispose)
    const start = async (): Promise<Running> =>
      await startExample(t, { STORAGE }, { file: 'build/examples/accounts.js', said: /(http:\/\/\S+)\/accounts/ })
    const servers = [await start(), await start()]
    const at = (n: number): string => (servers[n % 2] as Running).url
    const send = async (n: number, method: string, path: string, body: object): Promise<Response> =>
      await fetch(at(n) + path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
    const accounts = await Promise.all(Array.from({ length: 10 }, async (_, index) => {
      const answer = await send(index, 'POST', '/accounts', { owner: `owner ${index}`, balance: opening })
      return (await answer.json() as { id: string }).id
    }))

    const sent: Transfer[] = []
    const state = { isRunning: true, refused: 0 }
    const settle = async (n: number, { id, account, params }: Transfer): Promise<number> => {
      for (let attempt = n; ; attempt++) {
        const body = { account, action: 'TransferMoney', params }
        const answer = await send(attempt, 'PUT', `/rest/commands/${id}`, body).catch(() => undefined)
        await answer?.arrayBuffer().catch(() => undefined)
        if (answer !== undefined && ![500, 503].includes(answer.status)) return answer.status
        if (answer?.status === 500) throw new Error('a fault')
        if (answer?.status === 503) state.refused++
        // No answer is no answer: the other server, or this one when it is back, finds out.
        await delay(20)
      }
    }
    const write = async (n: number): Promise<void> => {
      while (state.isRunning) {
        const [from, to] = [Math.floor(Math.random() * 10), 1 + Math.floor(Math.random() * 9)]
        const transfer: Transfer = {
          id: randomUUID(),
          account: accounts[from] as string,
          params: { to: accounts[(from + to) % 10] as string, amount: 1 + Math.floor(Math.random() * 20) }
        }
        sent.push(transfer)
        transfer.status = await settle(n, transfer)
      }
    }
    const writing = Promise.all(Array.from({ length: writers }, (_, n) => write(n)))
    const answered = (): number => sent.filter(({ status }) => status !== undefined).length
    for (let kills = 0; kills < 2; kills++) {
      const until = answered() + 2 * writers
      while (answered() < until) await delay(5)
      const killed = servers[kills % 2] as Running
      killed.stop('SIGKILL')
      await killed.ended
      servers[kills % 2] = await start()
    }
    state.isRunning = false
    await writing

    t.equal(state.refused, 0, 'nobody was told to come again')
    t.ok(sent.length > 4 * writers, `there was a load: ${sent.length}`)
    const statuses = new Set(sent.map(({ status }) => status))
    t.strictSame([...statuses].filter(status => ![200, 201, 409].includes(status ?? 0)), [])
    const done = sent.filter(({ status }) => status !== 409)
    const balances = await Promise.all(accounts.map(async id =>
      (await (await fetch(`${at(0)}/accounts/${id}`)).json() as { balance: number, revision: number })))
    t.equal(balances.reduce((sum, { balance }) => sum + balance, 0), 10 * opening, 'the sum stays the same')
    for (const [index, id] of accounts.entries()) {
      const took = done.filter(({ params }) => params.to === id)
      const gave = done.filter(({ account }) => account === id)
      const sum = (list: readonly Transfer[]): number => list.reduce((sum, { params }) => sum + params.amount, 0)
      t.equal(balances[index]?.balance, opening + sum(took) - sum(gave), 'what was acknowledged was done, and once')
      const lines = await (await fetch(`${at(1)}/accounts/${id}/commands.ndjson?outcome=done`)).text()
      const log = lines.trim().split('\n').map(line => JSON.parse(line) as { id: string, revision: number })
      t.strictSame(log.map(({ revision }) => revision),
        Array.from({ length: balances[index]?.revision ?? 0 }, (_, at) => at + 1), 'each revision is one entry')
      t.strictSame(log.slice(1).map(entry => entry.id).sort(), [...took, ...gave].map(each => each.id).sort())
    }
  })
}
