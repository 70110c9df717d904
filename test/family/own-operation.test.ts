import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import { defineFamily, defineQuery } from '../../lib/index.js'
import type { TestResponse } from '../deals/app.js'
import { anyStorage } from '../storages.js'

// Every kind of field and parameter, one word for verb and participle, and all that an operation may know.
const parcels = defineFamily({
  name: 'parcels',
  singular: 'parcel',
  fields: Type.Object({
    id: Type.String(),
    weight: Type.Number({ minimum: 0 }),
    fragile: Type.Boolean({ default: false }),
    labels: Type.Array(Type.String(), { default: [] }),
    pieces: Type.Integer({ default: 1 }),
    due: Type.Optional(Type.String({ format: 'date-time' })),
    address: Type.Optional(
      Type.Object({ street: Type.String(), floor: Type.Optional(Type.Integer()) }, { additionalProperties: false })
    ),
    splitAt: Type.Optional(Type.String({ format: 'date-time' })),
    splitBy: Type.Optional(Type.String())
  }),
  create: ['weight', 'fragile', 'due', 'address'],
  operations: {
    split: {
      name: 'split',
      verb: 'split',
      participle: 'split',
      noun: 'splits',
      action: 'SplitParcel',
      params: Type.Object({ pieces: Type.Integer({ minimum: 2 }) }),
      allowed: parcel => !parcel.fragile,
      apply: (parcel, { pieces }, { now, command, principal }) => ({
        ...parcel,
        pieces,
        labels: [command],
        splitAt: now,
        splitBy: principal ?? 'nobody'
      })
    },
    redirect: {
      name: 'redirect',
      verb: 'redirect',
      participle: 'redirected',
      noun: 'redirections',
      action: 'RedirectParcel',
      params: Type.Object({
        address: Type.Object(
          { street: Type.String(), floor: Type.Optional(Type.Integer()) },
          { additionalProperties: false }
        ),
        due: Type.Optional(Type.String({ format: 'date-time' }))
      }),
      changes: ['address', 'due'],
      apply: (parcel, { address, due }) => ({ ...parcel, address, ...(due === undefined ? {} : { due }) })
    }
  },
  state: parcel => (parcel.fragile ? 'fragile' : 'sturdy'),
  makeId: () => `P-${++made}`,
  queries: { 'parcels-by-pieces': defineQuery({ field: 'pieces' }) }
})
let made = 0

for (const { name, make } of anyStorage) {
  t.test(`${name}: a family of the host's own`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app: FastifyInstance = Fastify()
    app.register(parcels, { storage, prefix: '/post', authorize: () => ({ principal: 'Ann' }) })
    const send = async (method: 'POST' | 'PUT' | 'PATCH', url: string, payload?: object): Promise<TestResponse> =>
      await app.inject({ method, url: `/post${url}`, ...(payload === undefined ? {} : { payload }) })

    const created = await send('POST', '/parcels', {
      weight: 1.5,
      due: '2026-03-31T12:00:00.5+02:00',
      address: { street: 'Main' }
    })
    t.match(
      created.json(),
      {
        id: `P-${made}`,
        weight: 1.5,
        fragile: false,
        labels: { length: 0 },
        pieces: 1,
        due: '2026-03-31T10:00:00.500Z',
        address: { street: 'Main' }
      },
      'defaults, and moments in UTC'
    )
    t.equal(created.headers.location, `/post/parcels/P-${made}`, 'the host makes the ids')
    const self = `/parcels/P-${made}`

    const split = (await send('POST', `${self}/splits`, { pieces: 3 })).json<Record<string, unknown>>()
    const parcel = (await app.inject(`/post${self}`)).json<Record<string, unknown>>()
    t.match(
      parcel,
      { pieces: 3, labels: [split['id']], splitAt: split['createdAt'], splitBy: 'Ann', revision: 2 },
      'an operation knows the moment, the command and who asks'
    )
    t.equal(split['principal'], 'Ann', 'and so does the log')
    t.equal((await send('PUT', `${self}/split`, { pieces: 4 })).statusCode, 200, 'one word for both forms')
    t.strictSame(
      (await app.inject('/post/query/parcels-by-pieces/4')).json<{ id: string }[]>().map(({ id }) => id),
      [parcel['id']]
    )
    t.equal((await app.inject('/post/query/parcels-by-pieces/5')).statusCode, 404)

    const redirect = {
      action: 'RedirectParcel',
      params: { address: { street: 'Side', floor: 2 }, due: '2026-04-01T00:00:00Z' }
    }
    t.equal((await send('PUT', `${self}/commands/r1`, redirect)).statusCode, 201)
    t.match((await app.inject(`/post${self}`)).json(), {
      address: { street: 'Side', floor: 2 },
      due: '2026-04-01T00:00:00.000Z'
    })
    t.equal(
      (
        await send('PUT', '/rest/commands/r1', {
          parcel: parcel['id'],
          action: 'RedirectParcel',
          params: { due: '2026-04-01T02:00:00+02:00', address: { floor: 2, street: 'Side' } }
        })
      ).statusCode,
      200,
      'the same moment and members, written differently'
    )
    t.equal(
      (
        await send('PUT', `${self}/commands/r1`, {
          ...redirect,
          params: { address: { street: 'Side', floor: 3 }, due: '2026-04-01T00:00:00Z' }
        })
      ).statusCode,
      422
    )
    t.equal(
      (await send('PUT', `${self}/redirect`, redirect.params)).json<{ revision: number }>().revision,
      4,
      'nothing to change'
    )
    t.strictSame(
      (await send('PUT', `${self}/redirect`, { address: { street: 'Side', flor: 2 } }))
        .json<{ errors: { pointer: string }[] }>()
        .errors.map(({ pointer }) => pointer),
      ['/address/flor']
    )

    const whole = (await app.inject(`/post${self}`)).json<object>()
    t.equal((await send('PUT', self, whole)).statusCode, 200, 'the whole item as it is')
    t.match(
      (await send('PUT', self, { ...whole, address: { street: 'Other' } })).json<{ detail: string }>().detail,
      /redirect/
    )

    const fragile = (await send('POST', '/parcels', { weight: 1, fragile: true })).json<{ id: string }>().id
    t.match((await send('PUT', `/parcels/${fragile}/split`, { pieces: 2 })).json(), {
      status: 409,
      state: 'fragile',
      operation: 'split',
      allowed: ['redirect']
    })
    t.equal((await send('POST', '/command/SplitParcel', { id: fragile, pieces: 2 })).statusCode, 409)
    t.equal(
      (await send('POST', '/command/RedirectParcel/', { id: fragile, address: { street: 'Main' } })).statusCode,
      200
    )
  })
}
