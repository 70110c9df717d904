import Fastify from 'fastify'
import t from 'tap'
import { defineFamily, html, json, memoryStorage, Type } from '../../lib/index.js'

const people = defineFamily({
  name: 'people',
  singular: 'person',
  fields: Type.Object({ id: Type.Integer(), name: Type.String() }),
  create: ['name'],
  title: 'name'
})

const teams = defineFamily({
  name: 'teams',
  singular: 'team',
  fields: Type.Object({ id: Type.Integer(), owner: Type.Integer(), orders: Type.Integer() }),
  create: ['owner', 'orders'],
  references: { owner: people }
})

// Its owner is a number of its own, not a person.
const orders = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object({ id: Type.Integer(), owner: Type.Integer(), team: Type.Integer() }),
  create: { fields: ['owner', 'team'], with: { team: 'team' } },
  references: { team: teams },
  initial: (order, { items: { team } }) =>
    ({ item: order, others: { team: { ...team, orders: Number(team['orders']) + 1 } } })
})

t.test('parameters of a different family are not named like references of this one', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const storage = memoryStorage()
  for (const family of [people, teams, orders]) {
    await app.register(family as typeof people, { storage, version: 'v1', representations: [json, html()] })
  }
  const create = async (path: string, payload: object): Promise<void> => {
    t.equal((await app.inject({ method: 'POST', url: `/rest/v1/${path}`, payload })).statusCode, 201)
  }
  await create('people', { name: 'Ann Miller' })
  await create('people', { name: 'Bob Stone' })
  await create('teams', { owner: 1, orders: 0 })
  await create('orders', { owner: 2, team: 1 })
  const { body } = await app.inject({ url: '/rest/v1/teams/1/commands', headers: { accept: 'text/html' } })
  t.match(body, 'Ann Miller', 'its own reference')
  t.notMatch(body, 'Bob Stone')
})
