import type { FastifyInstance, FastifyPluginAsync, InjectOptions } from 'fastify'
import Fastify from 'fastify'
import { invoices } from '../../examples/own-family.js'
import type { FamilyOptions } from '../../lib/index.js'
import { customers, deals } from '../../lib/index.js'
import { operations } from '../deals/operations.js'

interface Words {
  readonly verb: string
  readonly participle: string
  readonly noun: string
  readonly action: string
  readonly params: object
}

interface Walked {
  readonly plugin: FastifyPluginAsync<FamilyOptions>
  readonly singular: string
  readonly create: object
  readonly operations: readonly Words[]
}

const payment = {
  verb: 'pay',
  participle: 'paid',
  noun: 'payments',
  action: 'PayInvoice',
  params: { on: '2030-01-01' }
}

/** The families that the walk goes through, with what a client sends to them. */
const families: Readonly<Record<string, Walked>> = {
  customers: {
    plugin: customers.extend({ create: ['age', 'children'] }),
    singular: 'customer',
    create: { age: 30, children: 2 },
    operations: []
  },
  deals: { plugin: deals, singular: 'deal', create: { name: 'tea', price: 5 }, operations },
  invoices: { plugin: invoices, singular: 'invoice', create: { customer: 1, total: 5 }, operations: [payment] }
}

/** What the named queries are asked for. */
const values: Readonly<Record<string, string>> = {
  'customers-by-age': '30',
  'customers-by-children': '2',
  'deals-by-name': 'tea',
  'deals-by-status': 'open',
  'invoices-by-customer': '1'
}

export interface Route {
  readonly method: string
  readonly url: string
}

/** An application with all families in all forms, and every route that it has. @param prepare called before */
export async function everyRoute (
  options: Partial<FamilyOptions> & Pick<FamilyOptions, 'storage'>,
  prepare: (app: FastifyInstance) => unknown = () => {}
): Promise<{ app: FastifyInstance, routes: Route[] }> {
  const app = Fastify()
  await prepare(app)
  const routes: Route[] = []
  app.addHook('onRoute', ({ method, url }) => {
    for (const each of listWords(url)) routes.push(...[method].flat().map(method => ({ method, url: each })))
  })
  for (const { plugin } of Object.values(families)) app.register(plugin, { ...options, version: 'v1' })
  await app.ready()
  return { app, routes }
}

/** The paths that a route for several words matches; none for one that is only in documents. */
export function listWords (url: string): string[] {
  if (url.includes('(?!)')) return []
  const [pattern, words] = /:word\(\^\(\?:([^)]*)\)\$\)/.exec(url) ?? []
  return pattern === undefined ? [url] : (words as string).split('|').map(word => url.replace(pattern, word))
}

/** Requests that fit a route, each with something to work on that is there. */
export async function requestsFor (app: FastifyInstance, { method, url }: Route): Promise<InjectOptions[]> {
  if (method === 'QUERY') {
    const headers = { 'content-type': 'application/json' }
    return (await requestsFor(app, { method: 'GET', url })).map(each => ({ ...each, method, headers, payload: '{}' }))
  }
  const request = { method: method as 'GET', url }
  // Nothing that these could find need be there.
  if (!['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].includes(method)) {
    return [{ ...request, url: url.replaceAll(/:(\w+)/g, '1') }]
  }
  const [, first, second, third] = url.replace(/\/$/, '').split('/') as [string, string, string, string]
  if (first === 'query') return [{ ...request, url: url.replace(':parameter', await valueFor(app, second)) }]
  if (first === 'command') return [{ ...request, payload: await bodyForAction(app, second) }]
  if (/^commands(\.:extension)?$/.test(second) && third === undefined) {
    if (method === 'POST') return [{ ...request, payload: { commands: [await commandFor(app)], atomic: true } }]
    return [{ ...request, url: url.replace(':extension', 'json') }]
  }
  if (second === 'commands') {
    return [await requestForCommand(app, 'deals', request), await requestForCommand(app, 'invoices', request)]
  }
  return [await requestForItem(app, third.replace('.:extension', ''), request)]
}

async function valueFor (app: FastifyInstance, query: string): Promise<string> {
  const value = values[query]
  return value ?? String((await itemFor(app, query, undefined)).id)
}

/** The body of `POST /command/{action}/`. */
async function bodyForAction (app: FastifyInstance, action: string): Promise<object> {
  for (const [name, { singular, create, operations }] of Object.entries(families)) {
    const noun = `${singular[0]?.toUpperCase()}${singular.slice(1)}`
    if (action === `Create${noun}`) return create
    const operation = operations.find(each => each.action === action)
    if (action === nameRestore(name)) return { id: (await itemFor(app, name, 'restore')).id }
    if (operation === undefined && action !== `Delete${noun}`) continue
    return { id: (await itemFor(app, name, operation)).id, ...operation?.params }
  }
  throw new Error(`no family knows ${action}`)
}

/** One of several commands. */
async function commandFor (app: FastifyInstance): Promise<object> {
  const [operation] = operations
  return { deal: (await itemFor(app, 'deals', operation)).id, action: operation?.action, params: operation?.params }
}

/** A request for `/rest/commands/{command}`. */
async function requestForCommand (
  app: FastifyInstance,
  name: string,
  request: InjectOptions & Route
): Promise<InjectOptions> {
  const { singular, operations: [operation] } = families[name] as Walked
  const { action, params } = operation as Words
  const { id, command } = await itemFor(app, name, operation, isRead(request))
  const payload = request.method === 'PUT' ? { [singular]: id, action, params } : ''
  return { ...request, url: request.url.replace(':command', command), payload }
}

/** A request for a collection, an item, or something below an item. */
async function requestForItem (
  app: FastifyInstance,
  name: string,
  { method, url: route }: InjectOptions & Route
): Promise<InjectOptions> {
  const { create, operations } = families[name] as Walked
  const tail = (route.split(`/rest/v1/${name}`)[1] as string).replace(/\/$/, '')
  const word = /^\/:id\/([a-z-]+)/.exec(tail)?.[1] ?? ''
  const named = operations.find(({ verb, participle, noun }) => [verb, participle, noun].includes(word))
  const usual = named ?? operations[0] ?? (method === 'PUT' ? 'restore' : undefined)
  const operation = word === 'deletions' ? 'delete' : restoring.includes(word) ? 'restore' : usual
  const { action, params } = typeof operation === 'object' ? operation : { action: nameRestore(name), params: {} }
  const { id, command } = await itemFor(app, name, operation, isRead({ method }) && word !== '')
  const url = route.replace(':id', String(id)).replace(':command', command).replace(':extension', 'json')
  const request = { method: method as 'GET', url }
  if (isRead(request) || method === 'DELETE') return request
  if (tail === '') return { ...request, payload: create }
  if (method === 'PATCH') return { ...request, payload: {} }
  return { ...request, payload: tail === '/:id' || word === 'commands' ? { action, params } : params }
}

function nameRestore (name: string): string {
  const { singular } = families[name] as Walked
  return `Restore${singular[0]?.toUpperCase()}${singular.slice(1)}`
}

const restoring = ['restore', 'restored', 'restorations']

function isRead ({ method }: { readonly method: string }): boolean {
  return method === 'GET' || method === 'HEAD'
}

let commands = 0

/** An item on which the operation can be done or, where it is asked for, has been done by a command. */
async function itemFor (
  app: FastifyInstance,
  name: string,
  operation: Words | 'delete' | 'restore' | undefined,
  done = false
): Promise<{ id: string | number, command: string }> {
  const home = `/rest/v1/${name}`
  const { create } = families[name] as Walked
  const { id } = (await injectTrusted(app, { method: 'POST', url: home, payload: create })).json<{
    id: string | number
  }>()
  const item = `${home}/${id}`
  const command = `c${++commands}`
  if (operation === 'restore') await injectTrusted(app, { method: 'DELETE', url: item })
  if (operation === 'delete' || operation === 'restore') {
    if (!done) return { id, command }
    const noun = operation === 'delete' ? 'deletions' : 'restorations'
    const { headers } = await injectTrusted(app, { method: 'POST', url: `${item}/${noun}`, payload: {} })
    return { id, command: String(headers.location).split('/').at(-1) as string }
  }
  if (operation?.action === 'UnholdDeal') {
    await injectTrusted(app, { method: 'PUT', url: `${item}/hold`, payload: { reason: 'a' } })
  }
  if (!done) return { id, command }
  if (operation === undefined) {
    // Of a family without operations, only how it began.
    const {
      items: [first]
    } = (await injectTrusted(app, { url: `${item}/commands` })).json<{ items: [{ id: string }] }>()
    return { id, command: first.id }
  }
  const { action, params } = operation
  await injectTrusted(app, { method: 'PUT', url: `${item}/commands/${command}`, payload: { action, params } })
  return { id, command }
}

/** A request that is let through whatever the walk is about. */
async function injectTrusted (app: FastifyInstance, request: InjectOptions) {
  const answer = await app.inject({ ...request, headers: { ...request.headers, trusted: 'yes' } })
  if (answer.statusCode >= 300) throw new Error(`${request.method} ${String(request.url)}: ${answer.body}`)
  return answer
}
