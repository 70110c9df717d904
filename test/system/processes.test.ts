import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'
import { startExample } from '../example-server.js'
import { startServer } from '../postgres/server.js'
import { unmeasured } from '../unmeasured.js'

// What holds for parallel requests to one server holds for two of them on one file, or on one PostgreSQL.
const places: Record<string, () => Promise<{ url: string, dispose: () => Promise<void> }>> = {
  async sqlite () {
    const folder = await mkdtemp(join(tmpdir(), 'dealbook-processes-'))
    return { url: `sqlite:${join(folder, 'shared.db')}`, dispose: () => rm(folder, { recursive: true }) }
  },
  postgres: startServer
}

for (const [name, open] of Object.entries(places)) {
  t.test(`two servers on one ${name}`, async t => {
    const { url: STORAGE, dispose } = await open()
    t.teardown(dispose)
    const servers = await Promise.all([startExample(t, { STORAGE }), startExample(t, { STORAGE })])
    const at = (n: number) => servers[n % 2]?.url as string
    const send = async (
      n: number,
      route: `${'POST' | 'PUT'} /${string}`,
      body: unknown,
      headers: Record<string, string> = {}
    ) => {
      const [method, path] = route.split(' ') as [string, string]
      const answer = await fetch(at(n) + path, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body)
      })
      return { status: answer.status, body: await answer.text() }
    }
    const many = async <T>(count: number, work: (n: number) => Promise<T>) =>
      await Promise.all(Array.from({ length: count }, (_, n) => work(n)))
    const deal = JSON.parse((await send(0, 'POST /rest/v1/deals', { name: 'shared', price: 0 })).body) as {
      id: string
    }
    const path = `/rest/v1/deals/${deal.id}` as const
    const revision = async () => (await (await fetch(at(0) + path)).json() as { revision: number }).revision

    const same = await many(
      100,
      async n =>
        await send(n, 'PUT /rest/commands/once', {
          deal: deal.id,
          action: 'ChangeDealPrice',
          params: { newPrice: 1, reason: 'once' }
        })
    )
    t.equal(same.filter(({ status }) => status === 201).length, 1, 'one command id: one is the first')
    t.equal(same.filter(({ status }) => status === 200).length, 99, 'and all others are told so')
    t.equal(new Set(same.map(({ body }) => body)).size, 1, 'in the same words')
    t.equal(await revision(), 2, 'and it was done once')

    const created = await many(
      50,
      async n => await send(n, 'POST /rest/v1/deals', { name: 'keyed', price: 1 }, { 'idempotency-key': 'a key' })
    )
    t.strictSame(new Set(created.map(({ status }) => status)), new Set([201]))
    t.equal(new Set(created.map(({ body }) => body)).size, 1, 'one key, one deal')

    const changes = await many(
      100,
      async n => await send(n, `PUT ${path}/change-price`, { newPrice: 10 + n, reason: 'many' })
    )
    t.strictSame(new Set(changes.map(({ status }) => status)), new Set([200]), 'without a condition, all succeed')
    t.equal(await revision(), 102)
    const log = (await (await fetch(`${at(1)}${path}/commands?maxpagesize=1000`)).json()) as {
      items: { revision: number }[]
    }
    t.strictSame(
      log.items.map(entry => entry.revision),
      Array.from({ length: 102 }, (_, index) => index + 1),
      'each once in the log'
    )

    const conditional = await many(
      20,
      async n =>
        await send(
          n,
          `PUT ${path}/change-price`,
          { newPrice: 200 + n, reason: 'one of them' },
          { 'if-match': '"102"' }
        )
    )
    t.strictSame(
      conditional.map(({ status }) => status).sort(),
      [200, ...Array.from({ length: 19 }, () => 412)],
      'with one condition, one succeeds'
    )
    t.equal(await revision(), 103)
  })
}

/** A host whose families have rules, in a process of its own. */
async function startKeyed (t: Test, where: string): Promise<string> {
  const child = spawn(...unmeasured(process.execPath, ['build/test/system/keyed-server.js', where]), {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  t.teardown(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data') as [string]
  return line.trim()
}

for (const [name, open] of Object.entries(places)) {
  t.test(`two servers on one ${name}: of those who race, one wins`, async t => {
    const { url, dispose } = await open()
    t.teardown(dispose)
    const servers = await Promise.all([startKeyed(t, url), startKeyed(t, url)])
    const send = async (n: number, method: string, path: string, body?: object, headers: object = {}) => {
      const answer = await fetch(`${servers[n % 2]}${path}`, {
        method,
        headers: body === undefined ? { ...headers } : { 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      const text = await answer.text()
      return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> }
    }
    const many = <T>(count: number, work: (n: number) => Promise<T>) =>
      Promise.all(Array.from({ length: count }, (_, n) => work(n)))
    const makePerson = async (name: string) => (await send(0, 'POST', '/people', { name })).body['id'] as number
    const customer = await makePerson('Ann')

    const created = await many(60, n => send(n, 'POST', '/bills', { number: 'one', customer }))
    t.equal(created.filter(({ status }) => status === 201).length, 1, 'one value, one bill')
    const others = created.filter(({ status }) => status !== 201)
    t.strictSame(new Set(others.map(({ status, body }) => `${status} ${String(body['type'])}`)),
      new Set(['409 urn:dealbook:problem:taken']))

    const headers = { 'idempotency-key': 'a key' }
    const keyed = await many(40, n => send(n, 'POST', '/bills', { number: 'two', customer }, headers))
    t.strictSame(new Set(keyed.map(({ status, body }) => `${status} ${String(body['id'])}`)).size, 1,
      'one key, one bill, and all are told of it')
    t.equal(keyed[0]?.status, 201)

    let deletions = 0
    for (let round = 0; round < 12; round++) {
      const person = await makePerson(`Bob ${round}`)
      const place = round % 6
      // In every other round the deletion comes when one of the bills is made, together with further ones.
      const begun = round % 2 === 0 ? undefined : send(place + 1, 'POST', '/bills', { customer: person })
      await begun
      const settled = await many(8, n => n === place
        ? send(n, 'DELETE', `/people/${person}`)
        : n === place + 1 && begun !== undefined ? begun : send(n, 'POST', '/bills', { customer: person }))
      const isDeleted = settled[place]?.status === 204
      const { items } = (await send(0, 'GET', `/bills?customer=${person}`)).body as { items: unknown[] }
      const made = settled.filter(({ status }) => status === 201).length
      t.equal(items.length, made)
      t.ok(isDeleted ? made === 0 : made > 0 && settled[place]?.status === 409, `round ${round}: ${made} bills`)
      t.ok(settled.every(({ status }) => [201, 204, 400, 409].includes(status)))
      if (isDeleted) deletions++
    }
    t.comment(`${deletions} of 12 deletions won`)
  })
}
