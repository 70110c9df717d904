import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import Fastify from 'fastify'
import type { HtmlOptions } from '../../lib/html/index.js'
import type { FamilyOptions, Storage } from '../../lib/index.js'
import { csv, decimal, defineFamily, html, json, Type } from '../../lib/index.js'

export const clients = defineFamily({
  name: 'clients',
  singular: 'client',
  fields: Type.Object({
    id: Type.Integer(), name: Type.String({ minLength: 1, maxLength: 100 }), region: Type.Optional(Type.String())
  }),
  create: ['name', 'region'],
  edit: ['name']
})

export const plants = defineFamily({
  name: 'plants',
  singular: 'plant',
  fields: Type.Object({ id: Type.Integer(), name: Type.String({ minLength: 1, maxLength: 100 }) }),
  create: ['name']
})

const Line = Type.Object({
  article: Type.String({ minLength: 1 }), quantity: Type.Integer({ minimum: 1 }), rush: Type.Optional(Type.Boolean())
})

/** Orders have everything that forms can send: references, lists, rows, members, moments, decimals. */
export const orders = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object({
    id: Type.Integer(),
    title: Type.String({ minLength: 1, maxLength: 100 }),
    client: Type.Integer(),
    plant: Type.Optional(Type.Integer()),
    total: decimal({ scale: 2, default: '0.00' }),
    tags: Type.Optional(Type.Array(Type.String({ maxLength: 20 }))),
    lines: Type.Array(Line, { default: [] }),
    address: Type.Optional(Type.Object({ city: Type.String(), zip: Type.Optional(Type.String()) })),
    due: Type.Optional(Type.String({ format: 'date-time' })),
    sent: Type.Boolean({ default: false }),
    note: Type.Optional(Type.String({ maxLength: 4000 }))
  }),
  references: { client: clients, plant: plants },
  title: 'title',
  list: ['title', 'client', 'total', 'createdAt'],
  search: ['title', 'note'],
  states: { open: { tone: 'neutral', filter: 'sent=false' }, sent: { tone: 'good', filter: 'sent=true' } },
  create: ['title', 'client', 'plant', 'total', 'tags', 'lines', 'address', 'due', 'note'],
  edit: ['title', 'client', 'total', 'tags', 'lines', 'address', 'due', 'note'],
  operations: {
    send: {
      name: 'send',
      verb: 'send',
      participle: 'sent',
      noun: 'sendings',
      action: 'SendOrder',
      params: Type.Object({}),
      allowed: ({ sent }) => !sent || 'The order is sent already',
      apply: order => ({ ...order, sent: true })
    },
    price: {
      name: 'price',
      verb: 'price',
      participle: 'priced',
      noun: 'pricings',
      action: 'PriceOrder',
      params: Type.Object({ total: decimal({ scale: 2 }), reason: Type.Optional(Type.String({ maxLength: 2000 })) }),
      apply: (order, { total }) => ({ ...order, total })
    },
    move: {
      name: 'move',
      verb: 'move',
      participle: 'moved',
      noun: 'moves',
      action: 'MoveOrder',
      params: Type.Object({ plant: Type.Integer() }),
      danger: true,
      apply: (order, { plant }) => ({ ...order, plant })
    }
  },
  labels: {
    de: {
      plural: 'Aufträge',
      singular: 'Auftrag',
      create: 'Neuer Auftrag',
      fields: { title: 'Titel', client: 'Kunde', total: 'Summe', due: 'Fällig' },
      operations: { send: { label: 'Versenden', done: 'Versendet' }, price: 'Preis ändern' },
      states: { open: 'Offen', sent: 'Versendet' }
    }
  }
})

export interface Shop {
  readonly app: FastifyInstance
  readonly ids: { readonly clients: readonly number[], readonly plants: readonly number[] }
}

/** `counts`: how many clients and plants there are. */
export async function openShop (
  t: { teardown (close: () => Promise<unknown>): void },
  storage: Storage,
  { pages = {}, counts = [3, 3], ...options }: Partial<FamilyOptions> & {
    readonly pages?: HtmlOptions
    readonly counts?: readonly [clients: number, plants: number]
  } = {},
  prepare: (app: FastifyInstance) => void = () => {}
): Promise<Shop> {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  prepare(app)
  const shared = { prefix: '/shop', storage, representations: [json, html(pages), csv], ...options }
  app.register(clients, shared)
  app.register(plants, shared)
  app.register(orders, shared)
  const make = async (name: string, singular: string, count: number): Promise<number[]> => {
    const made: number[] = []
    for (let index = 1; index <= count; index++) {
      const payload = { name: `${singular} ${index}` }
      made.push((await app.inject({ method: 'POST', url: `/shop/${name}`, payload })).json<{ id: number }>().id)
    }
    return made
  }
  return {
    app,
    ids: { clients: await make('clients', 'Client', counts[0]), plants: await make('plants', 'Plant', counts[1]) }
  }
}

export async function createOrder (app: FastifyInstance, order: object): Promise<{ id: number, revision: number }> {
  const { statusCode, body } = await app.inject({ method: 'POST', url: '/shop/orders', payload: order })
  if (statusCode !== 201) throw new Error(body)
  return JSON.parse(body)
}

export const accept = { accept: 'text/html' }

export async function see (app: FastifyInstance, url: string, headers = {}): Promise<string> {
  return (await app.inject({ url, headers: { ...accept, ...headers } })).body
}

export async function post (
  app: FastifyInstance,
  url: string,
  form: Record<string, string>
): Promise<LightMyRequestResponse> {
  const headers = { ...accept, 'content-type': 'application/x-www-form-urlencoded' }
  return await app.inject({ method: 'POST', url, headers, payload: new URLSearchParams(form).toString() })
}

/** The entries of the form that is sent to an address, as a browser has them. */
export function formOf (page: string, action: string): Record<string, string> {
  const form = page.split('<form ').find(part => part.includes(`action="${action}"`)) ?? ''
  const whole = form.slice(0, form.indexOf('</form>'))
  const entries: Record<string, string> = {}
  const decode = (text: string): string =>
    text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&')
  for (const [tag, name = ''] of whole.matchAll(/<input [^>]*name="([^"]*)"[^>]*>/g)) {
    entries[name] = decode(/ value="([^"]*)"/.exec(tag)?.[1] ?? '')
  }
  for (const [, name = '', text = ''] of whole.matchAll(/<textarea [^>]*name="([^"]*)"[^>]*>\n([^<]*)/g)) {
    entries[name] = decode(text)
  }
  for (const [, name = '', options = ''] of whole.matchAll(/<select [^>]*name="([^"]*)"[^>]*>(.*?)<\/select>/gs)) {
    entries[name] = decode(/value="([^"]*)" selected/.exec(options)?.[1] ?? '')
  }
  delete entries['_add']
  return entries
}

export const textOf = (html: string): string => html.replace(/<style>.*?<\/style>|<script>.*?<\/script>/gs, '')
  .replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ')
