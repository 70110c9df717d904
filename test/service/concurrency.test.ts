import { randomUUID } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { Storage } from '../../lib/index.js'
import { deals, defineFamily } from '../../lib/index.js'
import type { Checks, TestRequest, TestResponse } from '../deals/app.js'
import { createDeal, home, readDeal, readLog } from '../deals/app.js'
import { isLong } from '../size.js'
import { storages } from '../storages.js'

const many = isLong ? 100 : 30

/** A test that sends its requests to one application, or in turns to two. */
type Race = (t: Checks, apps: readonly FastifyInstance[]) => Promise<void>

const races: Readonly<Record<string, Race>> = {
  async 'parallel PUTs of one command id' (t, apps) {
    const { id } = await createDeal(apps[0] as FastifyInstance)
    const command = randomUUID()
    const answers = await sendAll(apps, many, index =>
      index % 3 === 0
        ? {
            method: 'PUT',
            url: `/rest/commands/${command}`,
            payload: { deal: id, action: 'HoldDeal', params: { reason: 'once' } }
          }
        : {
            method: 'PUT',
            url: `${home}/${id}/commands/${command}`,
            payload: { action: 'HoldDeal', params: { reason: 'once' } }
          }
    )
    t.strictSame(countByStatus(answers), { 200: many - 1, 201: 1 }, 'one of them did it')
    t.equal(new Set(answers.map(({ body }) => body)).size, 1, 'all say the same')
    t.ok(
      answers.every(({ statusCode, headers }) => (statusCode === 200) === (headers['idempotent-replayed'] === 'true')),
      'the others say that they repeat'
    )
    await check(t, apps, id, ['CreateDeal', 'HoldDeal'])
  },

  async '100 parallel changes of one deal' (t, apps) {
    const { id } = await createDeal(apps[0] as FastifyInstance)
    const answers = await sendAll(apps, 100, index => ({
      method: 'PUT',
      url: `${home}/${id}/change-price`,
      payload: { newPrice: 1000 + index, reason: 'haggling' }
    }))
    t.strictSame(countByStatus(answers), { 200: 100 }, 'all succeed')
    t.strictSame(
      answers.map(answer => answer.json<{ revision: number }>().revision).sort((a, b) => a - b),
      Array.from({ length: 100 }, (_, index) => index + 2),
      'each has a revision of its own'
    )
    await check(t, apps, id, ['CreateDeal', ...Array<string>(100).fill('ChangeDealPrice')])
    const log = await readLog(apps[0] as FastifyInstance, id)
    t.equal(
      log.at(-1)?.params?.['newPrice'],
      (await readDeal(apps[0] as FastifyInstance, id))['price'],
      'the last of the log is what the deal is'
    )
  },

  async '20 parallel changes with one If-Match' (t, apps) {
    const { id } = await createDeal(apps[0] as FastifyInstance)
    const answers = await sendAll(apps, 20, index => ({
      method: 'PUT',
      url: `${home}/${id}/change-price`,
      headers: { 'if-match': '"1-json"' },
      payload: { newPrice: 1000 + index, reason: 'haggling' }
    }))
    t.strictSame(countByStatus(answers), { 200: 1, 412: 19 }, 'one was right')
    await check(t, apps, id, ['CreateDeal', 'ChangeDealPrice'])
  },

  async 'parallel creations with one Idempotency-Key' (t, apps) {
    const key = randomUUID()
    const answers = await sendAll(apps, many, () => ({
      method: 'POST',
      url: `${home}/`,
      headers: { 'idempotency-key': key },
      payload: { name: key, price: 1 }
    }))
    t.strictSame(countByStatus(answers), { 201: many }, 'the first answer, again and again')
    t.equal(new Set(answers.map(({ body }) => body)).size, 1, 'all say the same')
    t.equal(
      new Set(answers.map(({ headers }) => `${headers.location} ${headers.etag} ${headers['last-modified']}`)).size,
      1,
      'in their headers too'
    )
    t.equal(
      answers.filter(({ headers }) => headers['idempotent-replayed'] === undefined).length,
      1,
      'all but one say that they repeat'
    )
    t.equal(
      (await (apps[0] as FastifyInstance).inject(`${home}?name=${key}`)).json<{ items: unknown[] }>().items.length,
      1,
      'one deal'
    )
  },

  async 'parallel POSTs to a noun with one Idempotency-Key' (t, apps) {
    const { id } = await createDeal(apps[0] as FastifyInstance)
    const answers = await sendAll(apps, many, () => ({
      method: 'POST',
      url: `${home}/${id}/holds`,
      headers: { 'idempotency-key': `hold ${id}` },
      payload: { reason: 'once' }
    }))
    t.strictSame(countByStatus(answers), { 201: many })
    t.equal(new Set(answers.map(({ body, headers }) => `${headers.location} ${body}`)).size, 1, 'all say the same')
    await check(t, apps, id, ['CreateDeal', 'HoldDeal'])
  },

  async 'one command id for two deals' (t, apps) {
    const ids = [await createDeal(apps[0] as FastifyInstance), await createDeal(apps[0] as FastifyInstance)].map(
      ({ id }) => id
    )
    const command = randomUUID()
    const answers = await sendAll(apps, 2, index => ({
      method: 'PUT',
      url: `${home}/${ids[index]}/commands/${command}`,
      payload: { action: 'HoldDeal', params: { reason: 'once' } }
    }))
    t.strictSame(countByStatus(answers), { 201: 1, 422: 1 }, 'it stands for one of them')
    const held = await Promise.all(ids.map(async id => (await readDeal(apps[0] as FastifyInstance, id))['held']))
    t.strictSame(held.sort(), [false, true], 'the other is as it was')
  },

  async 'one of 20 parallel holds for different reasons' (t, apps) {
    const { id } = await createDeal(apps[0] as FastifyInstance)
    const answers = await sendAll(apps, 20, index => ({
      method: 'POST',
      url: `${home}/${id}/holds`,
      payload: { reason: `reason ${index}` }
    }))
    t.strictSame(countByStatus(answers), { 201: 1, 409: 19 }, 'a deal is held once')
    await check(t, apps, id, ['CreateDeal', 'HoldDeal'])
  },

  async '40 parallel attribute updates' (t, apps) {
    const { id } = await createDeal(apps[0] as FastifyInstance)
    const answers = await sendAll(apps, 40, index => ({
      method: 'PUT',
      url: `${home}/${id}`,
      payload: index % 2 === 0 ? { held: true, holdReason: `reason ${index}` } : { held: false }
    }))
    // A success shows what was asked for: nobody else's change comes between reading the attributes and writing them.
    t.ok(
      answers.every(
        (answer, index) => answer.statusCode === 409 || answer.json<{ held: boolean }>().held === (index % 2 === 0)
      ),
      'each success is what was asked for'
    )
    const log = (await readLog(apps[0] as FastifyInstance, id)).slice(1)
    t.ok(log.length > 0, 'there were successes')
    t.ok(
      log.every(({ action }, index) => action === (index % 2 === 0 ? 'HoldDeal' : 'UnholdDeal')),
      'holds and unholds take turns'
    )
    t.equal((await readDeal(apps[0] as FastifyInstance, id)).revision, log.length + 1)
  },

  async '20 parallel deletions' (t, apps) {
    const { id } = await createDeal(apps[0] as FastifyInstance)
    const answers = await sendAll(apps, 20, () => ({ method: 'DELETE', url: `${home}/${id}` }))
    t.strictSame(countByStatus(answers), { 204: 1, 404: 19 }, 'it goes once')
    t.strictSame(
      (await readLog(apps[0] as FastifyInstance, id)).map(({ action }) => action),
      ['CreateDeal', 'DeleteDeal']
    )
  },

  async '50 parallel creations where the ids are integers' (t, apps) {
    const answers = await sendAll(apps, 50, index => ({
      method: 'POST',
      url: '/tickets',
      payload: { title: `ticket ${index}` }
    }))
    t.strictSame(countByStatus(answers), { 201: 50 }, 'all succeed')
    t.equal(new Set(answers.map(answer => answer.json<{ id: number }>().id)).size, 50, 'each has an id of its own')
  }
}

const tickets = defineFamily({
  name: 'tickets',
  singular: 'ticket',
  fields: Type.Object({ id: Type.Integer(), title: Type.String() }),
  create: ['title']
})

for (const { name, make } of storages) {
  t.test(name, async t => {
    const { storage, another, dispose } = await make()
    t.teardown(dispose)
    const one = await bothFamilies(storage)
    const settings: Record<string, readonly FastifyInstance[]> = {
      'one application': [one],
      'two applications, one storage': [one, await bothFamilies(storage)]
    }
    if (another !== undefined) {
      settings['two applications, each with its own storage on the same data'] = [one, await bothFamilies(another())]
    }
    for (const [setting, apps] of Object.entries(settings)) {
      t.test(setting, async t => {
        for (const [race, run] of Object.entries(races)) await t.test(race, async t => await run(t, apps))
      })
    }
  })
}

async function bothFamilies (storage: Storage): Promise<FastifyInstance> {
  const app = Fastify()
  app.register(deals, { storage, version: 'v1' })
  app.register(tickets, { storage })
  await app.ready()
  return app
}

async function sendAll (
  apps: readonly FastifyInstance[],
  times: number,
  request: (index: number) => TestRequest
): Promise<TestResponse[]> {
  return await Promise.all(
    Array.from(
      { length: times },
      async (_, index) => await (apps[index % apps.length] as FastifyInstance).inject(request(index))
    )
  )
}

/** How many answers have each status. */
function countByStatus (answers: readonly TestResponse[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { statusCode } of answers) counts[statusCode] = (counts[statusCode] ?? 0) + 1
  return counts
}

/** That these changes and no others were made of the deal, as every application sees it. */
async function check (
  t: Checks,
  apps: readonly FastifyInstance[],
  id: string,
  actions: readonly string[]
): Promise<void> {
  for (const app of apps) {
    t.equal((await readDeal(app, id)).revision, actions.length, 'the revision')
    t.strictSame(
      (await readLog(app, id)).map(entry => [entry.revision, entry.action, entry.outcome]),
      actions.map((action, index) => [index + 1, action, 'done']),
      'the log'
    )
  }
}
