import type { IncomingMessage, ServerResponse } from 'node:http'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, InjectOptions } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { Storage } from '../../lib/index.js'
import { customers, defineFamily } from '../../lib/index.js'
import { people, storageOf } from '../customers-app.js'

// Fastify takes more of them than its types know.
type RouterOptions = Readonly<Record<string, unknown>>
type Handlers = Map<unknown, unknown>

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.Integer(), text: Type.String(), done: Type.Boolean({ default: false }) }),
  create: ['text'],
  operations: {
    finish: {
      name: 'finish',
      verb: 'finish',
      participle: 'finished',
      noun: 'completions',
      action: 'FinishNote',
      params: Type.Object({}),
      apply: note => ({ ...note, done: true })
    }
  }
})

/** Everything that a host can say to its router. */
const options: RouterOptions = {
  allowUnsafeRegex: true,
  buildPrettyMeta: () => ({}),
  caseSensitive: false,
  constraints: {
    region: {
      name: 'region',
      storage () {
        const handlers: Handlers = new Map()
        return {
          get: (region: unknown) => handlers.get(region) ?? null,
          set: (region: unknown, handler: unknown) => { handlers.set(region, handler) }
        }
      },
      deriveConstraint: (request: IncomingMessage) => request.headers.region,
      validate () {}
    }
  },
  defaultRoute: (_request: unknown, response: ServerResponse) => { response.writeHead(404).end() },
  ignoreDuplicateSlashes: true,
  ignoreTrailingSlash: true,
  maxParamLength: 36,
  onBadUrl: (_path: string, _request: unknown, response: ServerResponse) => { response.writeHead(400).end() },
  onMaxParamLength: (_path: string, _request: unknown, response: ServerResponse) => { response.writeHead(414).end() },
  querystringParser: () => ({ overwritten: 'yes' }),
  useSemicolonDelimiter: true
}
const names = Object.keys(options)
const pick = (...wanted: string[]): RouterOptions => Object.fromEntries(wanted.map(name => [name, options[name]]))

const item = '/crm/rest/v1/notes/1'
const finish = { action: 'FinishNote', params: {} }
/** In this order; each with and without a slash at its end. */
const requests: InjectOptions[] = [
  { method: 'POST', url: '/crm/rest/v1/notes', payload: { text: 'a' } },
  { url: '/crm/customers?min-age=30&maxpagesize=2' },
  { url: '/crm/customers/1' },
  { url: '/crm/customers.csv?fields=id' },
  { url: '/crm/query/customers-by-children/1' },
  { url: '/crm/customers?unknown=1' },
  { method: 'PUT', url: `${item}/finish` },
  { method: 'PUT', url: `${item}/commands/c1`, payload: finish },
  { method: 'PUT', url: '/crm/rest/commands/c2', payload: { note: 1, ...finish } },
  { method: 'POST', url: '/crm/command/FinishNote', payload: { id: 1 } },
  { url: item },
  { url: `${item}/commands` },
  { url: `${item}/commands/c1` },
  { url: `${item}/nothing` },
  { method: 'DELETE', url: '/crm/customers/1' },
  { url: '/crm/customers', headers: { accept: 'text/html' } }
]

async function open (t: { teardown (fn: () => unknown): void }, server: object): Promise<FastifyInstance> {
  const app = Fastify(server)
  t.teardown(() => app.close())
  const storage: Storage = await storageOf(people(20))
  app.register(customers, { storage, prefix: '/crm' })
  app.register(notes, { storage, prefix: '/crm', version: 'v1' })
  await app.ready()
  return app
}

async function answers (app: FastifyInstance, toUrl = (url: string) => url): Promise<unknown[]> {
  const all: unknown[] = []
  for (const request of requests) {
    const { statusCode, headers, body } = await app.inject({ ...request, url: toUrl(request.url as string) })
    // Without dates, ids of commands and keys of forms, of which no two are the same.
    const text = body.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z|[\w-]{36,43}/g, '…')
    all.push({ request, statusCode, location: headers.location, text })
  }
  return all
}

const addSlash = (url: string) => url.replace(/(?=\?|$)/, '/')
const getStatuses = (answers: unknown[]) => answers.map(answer => (answer as { statusCode: number }).statusCode)
const statuses = [201, 200, 200, 200, 200, 400, 200, 201, 201, 200, 200, 200, 200, 404, 405, 200]

// Of the old way, which is meant here, Fastify warns each time.
const listeners = process.listeners('warning')
process.removeAllListeners('warning')
t.teardown(() => { for (const listener of listeners) process.on('warning', listener) })

t.test('every setting of the router, in both ways to say it, and all of them together', async t => {
  const plain = await answers(await open(t, {}))
  t.strictSame(getStatuses(plain), statuses)
  // What no route takes is then the host's alone.
  const bare = plain.map(answer => {
    const { request, statusCode } = answer as { request: InjectOptions, statusCode: number }
    const isTaken = request.url !== `${item}/nothing` && statusCode !== 405
    return isTaken ? answer : { ...answer as object, statusCode: 404, text: '' }
  })
  for (const name of names) {
    const expected = name === 'defaultRoute' ? bare : plain
    t.strictSame(await answers(await open(t, { routerOptions: pick(name) })), expected, name)
    t.strictSame(await answers(await open(t, pick(name))), expected, `${name} in the old way`)
  }
  for (const compile of [false, true]) {
    const all = { ...options, compile }
    t.strictSame(await answers(await open(t, { routerOptions: all })), bare, `all of them, compile: ${compile}`)
  }
})

t.test('a slash at the end, whatever is set', async t => {
  const { defaultRoute, ...others } = options
  const alone = { routerOptions: pick('ignoreTrailingSlash') }
  for (const server of [{}, { ...others }, { routerOptions: others }, alone]) {
    t.strictSame(getStatuses(await answers(await open(t, server), addSlash)), statuses, Object.keys(server).join())
  }
})

t.test('a query that begins with a semicolon is read where the router takes it so', async t => {
  const url = '/crm/customers;fields=id&maxpagesize=2'
  for (const server of [{ routerOptions: { useSemicolonDelimiter: true } }, { useSemicolonDelimiter: true }]) {
    const app = await open(t, server)
    t.strictSame((await app.inject(url)).json(), {
      items: [{ id: 1 }, { id: 2 }],
      page: 1,
      pageSize: 2,
      links: {
        self: '/crm/customers?fields=id&maxpagesize=2',
        first: '/crm/customers?fields=id&maxpagesize=2',
        next: '/crm/customers?fields=id&maxpagesize=2&after=WyJjdXN0b21lcnMgaWQiLHRydWUsMl0'
      }
    })
    t.match((await app.inject('/crm/customers?fields=id;age')).json(), { errors: [{ parameter: 'fields' }] })
  }
  t.equal((await (await open(t, {})).inject(url)).statusCode, 404)
})
