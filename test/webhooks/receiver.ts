import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import { deals, type FamilyOptions, type Storage } from '../../lib/index.js'
import { makeWebhooks, type WebhookSettings } from '../../lib/webhooks/webhooks.js'

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly event: {
    readonly id: string, readonly type: string, readonly sequence: string, readonly data: Record<string, unknown>
  }
}

type Respond = (received: Received, count: number) => number | undefined | { status: number, location: string }

/** A receiver of events; `respond` returns the status, or undefined to hang. */
export async function receive (
  t: { teardown (work: () => unknown): void },
  respond: Respond = () => 204
): Promise<{ url: string, received: Received[], answered: Received[] }> {
  const received: Received[] = []
  const answered: Received[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (part: string) => { body += part })
    request.on('end', () => {
      const event = JSON.parse(body) as Received['event']
      const one = { path: request.url as string, headers: request.headers, body, event }
      received.push(one)
      const answer = respond(one, received.length)
      if (answer === undefined) return
      const { status, ...headers } = typeof answer === 'number' ? { status: answer } : answer
      if (status >= 200 && status < 300) answered.push(one)
      response.writeHead(status, headers).end()
    })
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => { server.closeAllConnections(); server.close() })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`, received, answered }
}

export const quick: WebhookSettings = { allowPrivate: true, timeout: 60_000, retryDelay: 20, maxRetryDelay: 100 }

export async function startApp (
  t: { teardown (work: () => unknown): void },
  storage: Storage,
  settings: WebhookSettings = quick,
  options: Partial<FamilyOptions> = {}
): Promise<FastifyInstance> {
  const app = Fastify()
  app.register(deals, { storage, prefix: '/crm', version: 'v1' })
  app.register(makeWebhooks(settings), { storage, prefix: '/crm', ...options })
  await app.ready()
  t.teardown(() => app.close())
  return app
}

export async function createWebhook (
  app: FastifyInstance,
  payload: Record<string, unknown>
): Promise<{ id: string, secret: string, home: string }> {
  const response = await app.inject({ method: 'POST', url: '/crm/webhooks', payload })
  if (response.statusCode !== 201) throw new Error(response.body)
  const { id, secret } = response.json() as { id: string, secret: string }
  return { id, secret, home: `/crm/webhooks/${id}` }
}

export async function createDeal (app: FastifyInstance, name = 'Tea'): Promise<string> {
  const response = await app.inject({ method: 'POST', url: '/crm/rest/v1/deals', payload: { name, price: 1 } })
  return (response.json() as { id: string }).id
}

/** Waits until it holds, and fails with what there is after a minute. */
export async function until (holds: () => boolean | Promise<boolean>, show: () => unknown = () => ''): Promise<void> {
  for (let waited = 0; waited < 6000; waited++) {
    if (await holds()) return
    await delay(10)
  }
  throw new Error(`It did not come true: ${JSON.stringify(show())}`)
}
