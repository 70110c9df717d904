import Fastify from 'fastify'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { invoices } from '../../examples/own-family.js'
import { customers, deals } from '../../lib/index.js'
import { getFamily } from '../../lib/plugin/define-family.js'
import type { FamilyOptions } from '../../lib/index.js'

/** What a client sends to the families of the walk. */
const families = {
  customers: { plugin: customers.extend({ create: ['age', 'children'] }), create: { age: 30, children: 2 }, params: {} as Record<string, object> },
  deals: {
    plugin: deals,
    create: { name: 'tea', price: 5 },
    params: {
      HoldDeal: { reason: 'a' },
      UnholdDeal: {},
      CompleteDeal: {},
      CancelDeal: { amercement: 1, reason: 'a' },
      ChangeDealPrice: { newPrice: 7, reason: 'a' },
      ChangeDealCompletionDate: { newDate: '2030-01-01', amercement: 1, whyChanged: 'a' }
    } as Record<string, object>
  },
  invoices: { plugin: invoices, create: { customer: 1, total: 5 }, params: { PayInvoice: { on: '2030-01-01' } } as Record<string, object> }
}
type Name = keyof typeof families

export interface Route {
  readonly method: string
  readonly url: string
}

/** An application with all families in all forms, and every route that it has. */
export async function everyRoute (options: Partial<FamilyOptions> & Pick<FamilyOptions, 'storage'>): Promise<{ app: FastifyInstance, routes: Route[] }> {
  const app = Fastify()
  const routes: Route[] = []
  app.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) routes.push({ method: each, url })
  })
  for (const { plugin } of Object.values(families)) app.register(plugin, { ...options, version: 'v1' })
  await app.ready()
  return { app, routes }
}

/** Requests that fit a route, each with something to work on that is there. */
export async function requestsFor (app: FastifyInstance, { method, url }: Route): Promise<InjectOptions[]> {
  const path = url.replace(/\/$/, '')
  const sent = { method: method as 'GET', url }
  // Nothing that these could find need be there.
  if (!['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].includes(method)) return [{ ...sent, url: url.replaceAll(/:(\w+)/g, '1') }]
  const [, first, second, third] = path.split('/')
  if (first === 'query') return [{ ...sent, url: url.replace(':parameter', await valueFor(app, second as string)) }]
  if (first === 'command') {
    const name = Object.keys(families).find(name => actionsOf(name as Name).includes(second as string)) as Name
    const { create, params } = families[name]
    if (second?.startsWith('Create') === true) return [{ ...sent, payload: create }]
    return [{ ...sent, payload: { id: (await itemFor(app, name, second as string)).id, ...params[second as string] } }]
  }
  if (second === 'commands') {
    return await Promise.all((['deals', 'invoices'] as const).map(async name => {
      const [action, params] = Object.entries(families[name].params)[0] as [string, object]
      const { id, command } = await itemFor(app, name, action, method === 'GET' || method === 'HEAD')
      return { ...sent, url: url.replace(':command', command), payload: method === 'PUT' ? { [families[name].plugin.definition.singular]: id, action, params } : '' }
    }))
  }
  const name = third?.replace('.:extension', '') as Name
  return [await requestForItem(app, name, sent, url.split(`/rest/v1/${name}`)[1] as string)]
}

async function requestForItem (app: FastifyInstance, name: Name, sent: InjectOptions & { readonly method: 'GET' }, tail: string): Promise<InjectOptions> {
  const { create, params, plugin } = families[name]
  const family = getFamily(plugin)
  const method = sent.method as 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  const word = /^\/:id\/([a-z-]+)/.exec(tail)?.[1]
  const spoken = [...family.operations.values()].find(({ operation: { verb, participle, noun } }) => word !== undefined && [verb, participle, noun].includes(word))?.operation
  const action = spoken?.action ?? (word === 'deletions' ? family.lifecycle?.deletion.operation.action as string : Object.keys(params)[0] ?? '')
  const reads = method === 'GET' || method === 'HEAD'
  const { id, command } = await itemFor(app, name, action, reads && word !== undefined)
  const url = (sent.url as string).replace(':id', String(id)).replace(':command', command).replace(':extension', 'json')
  if (reads || method === 'DELETE') return { method, url }
  if (tail.replace('/', '') === '') return { method, url, payload: create }
  if (tail.replace(/\/$/, '') === '/:id') return { method, url, payload: method === 'PATCH' ? {} : { action, params: params[action] } }
  return { method, url, payload: word === 'commands' ? { action, params: params[action] } : params[action] ?? {} }
}

let commands = 0

/** An item on which the action can be done, or has been done by a command. */
async function itemFor (app: FastifyInstance, name: Name, action: string, done = false): Promise<{ id: string | number, command: string }> {
  const home = `/rest/v1/${name}`
  const { params, create } = families[name]
  const { id } = (await trusted(app, { method: 'POST', url: home, payload: create })).json<{ id: string }>()
  if (action === 'UnholdDeal') await trusted(app, { method: 'PUT', url: `${home}/${id}/hold`, payload: { reason: 'a' } })
  const command = `c${++commands}`
  if (!done) return { id, command }
  // Of a family without operations, only how it began.
  if (action === '') return { id, command: (await trusted(app, { method: 'GET', url: `${home}/${id}/commands` })).json().items[0].id }
  if (action.startsWith('Delete')) {
    const { headers } = await trusted(app, { method: 'POST', url: `${home}/${id}/deletions`, payload: {} })
    return { id, command: String(headers.location).split('/').at(-1) as string }
  }
  await trusted(app, { method: 'PUT', url: `${home}/${id}/commands/${command}`, payload: { action, params: params[action] } })
  return { id, command }
}

/** A request that is let through whatever the walk is about. */
export async function trusted (app: FastifyInstance, request: InjectOptions) {
  const answer = await app.inject({ ...request, headers: { ...request.headers, trusted: 'yes' } })
  if (answer.statusCode >= 300) throw new Error(`${request.method} ${String(request.url)}: ${answer.body}`)
  return answer
}

function actionsOf (name: Name): string[] {
  const { operations, lifecycle } = getFamily(families[name].plugin)
  return [...operations.keys(), lifecycle?.createAction ?? '', lifecycle?.deletion.operation.action ?? '']
}

async function valueFor (app: FastifyInstance, result: string): Promise<string> {
  const name = result.split('-')[0] as Name
  const { id } = await itemFor(app, name, '')
  const values: Record<string, string> = { 'customers-by-age': '30', 'customers-by-children': '2', 'deals-by-name': 'tea', 'deals-by-status': 'open', 'invoices-by-customer': '1' }
  return values[result] ?? String(id)
}
