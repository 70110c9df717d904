import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import type { HtmlOptions } from '../../lib/html/index.js'
import { decimal, defineFamily, html, json, type Storage, Type } from '../../lib/index.js'
import { clients } from './shop.js'

/** Leases have amounts wherever a form can have them, and a default of every kind. */
const leases = defineFamily({
  name: 'leases',
  singular: 'lease',
  fields: Type.Object({
    id: Type.Integer(),
    name: Type.String({ minLength: 1, maxLength: 100 }),
    rent: Type.Number({ minimum: 0.5 }),
    fee: Type.Optional(decimal({ scale: 2, maximum: 9999.5 })),
    places: Type.Optional(Type.Integer()),
    rates: Type.Optional(Type.Array(decimal({ scale: 2 }))),
    sizes: Type.Optional(Type.Array(Type.Number())),
    steps: Type.Optional(Type.Array(Type.Object({ from: Type.Integer(), price: decimal({ scale: 2 }) }))),
    renews: Type.Boolean({ default: true }),
    currency: Type.Union([Type.Literal('EUR'), Type.Literal('CHF')], { default: 'EUR' }),
    months: Type.Number({ default: 12.5 }),
    deposit: decimal({ scale: 2, default: '0.50' }),
    terms: Type.String({ default: 'As usual', maxLength: 100 }),
    starts: Type.String({ format: 'date', default: '2027-01-31' }),
    seen: Type.String({ format: 'date-time', default: '2026-03-01T10:30:00.000Z' }),
    tags: Type.Array(Type.String(), { default: ['new', 'big'] }),
    site: Type.Object({ city: Type.String(), area: Type.Optional(Type.Number()) }, {
      default: { city: 'Ulm', area: 1.5 }
    }),
    parts: Type.Array(Type.Object({ part: Type.String(), weight: Type.Number() }), {
      default: [{ part: 'Roof', weight: 0.5 }]
    }),
    agent: Type.Union([Type.String(), Type.Null()], { default: 'Ann' }),
    client: Type.Integer({ default: 2 })
  }),
  references: { client: clients },
  create: [
    'name', 'rent', 'fee', 'places', 'rates', 'sizes', 'steps', 'renews', 'currency', 'months', 'deposit', 'terms',
    'starts', 'seen', 'tags', 'site', 'parts', 'agent', 'client'
  ],
  edit: ['rent', 'fee', 'rates', 'steps'],
  operations: {
    raise: {
      name: 'raise',
      verb: 'raise',
      participle: 'raised',
      noun: 'raises',
      action: 'RaiseLease',
      params: Type.Object({ by: Type.Number(), client: Type.Integer() }),
      danger: true,
      apply: (lease, { by, client }) => ({ ...lease, rent: lease.rent + by, client })
    }
  }
})

/** `count` clients; above 50, they are looked up. */
export async function openLeases (
  t: { teardown (close: () => Promise<unknown>): void },
  storage: Storage,
  pages: HtmlOptions = {},
  count = 3
): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  const shared = { storage, representations: [json, html(pages)] }
  app.register(clients, shared)
  app.register(leases, shared)
  for (let index = 1; index <= count; index++) {
    await app.inject({ method: 'POST', url: '/clients', payload: { name: `Client ${index}` } })
  }
  return app
}
