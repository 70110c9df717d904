import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import Fastify from 'fastify'
import type { Test } from 'tap'
import type { FamilyOptions } from '../../lib/index.js'
import { dealbook, memoryStorage } from '../../lib/index.js'
import { mcp, type McpOptions } from '../../lib/mcp/mcp.js'

/** Customers and deals at /crm, with their tools. */
export async function crmApp (options: Partial<FamilyOptions> = {}, own: McpOptions = {}): Promise<FastifyInstance> {
  const app = Fastify()
  app.register(mcp, { prefix: '/crm', ...own })
  app.register(dealbook, { storage: memoryStorage(), prefix: '/crm', version: 'v1', ...options })
  await app.ready()
  return app
}

type Members = Readonly<Record<string, unknown>>

/** The parts of structured results that tests look into. */
export interface Content extends Members {
  readonly item: Members & { readonly id: string }
  readonly items: readonly (Members & { readonly id: string, readonly name: string })[]
}

export interface Result {
  readonly isError?: boolean
  readonly text: string
  readonly content: Content
}

export interface Reply {
  readonly status: number
  readonly headers: LightMyRequestResponse['headers']
  readonly body: Message
}

interface Message {
  readonly result?: Members & { readonly tools: readonly (Members & { readonly name: string })[] }
  readonly error?: { readonly code: number, readonly message: string, readonly data?: Members }
}

/** Sends one message as it is. */
export async function post (
  app: FastifyInstance,
  payload: NonNullable<InjectOptions['payload']>,
  headers: Readonly<Record<string, string>> = {},
  url = '/crm/mcp'
): Promise<Reply> {
  const answer = await app.inject({
    method: 'POST', url, payload, headers: { 'content-type': 'application/json', ...headers }
  })
  return { status: answer.statusCode, headers: answer.headers, body: answer.body === '' ? {} : answer.json<Message>() }
}

/** Sends a request of an earlier version, which needs no more than this. */
export async function ask (
  app: FastifyInstance,
  method: string,
  params: object = {},
  headers: Readonly<Record<string, string>> = {},
  url = '/crm/mcp'
): Promise<Reply> {
  return await post(app, { jsonrpc: '2.0', id: 1, method, params }, headers, url)
}

export async function listNames (app: FastifyInstance, headers?: Readonly<Record<string, string>>): Promise<string[]> {
  const { body } = await ask(app, 'tools/list', {}, headers)
  return (body.result?.tools ?? []).map(({ name }) => name)
}

export async function call (
  app: FastifyInstance,
  name: string,
  args?: object,
  headers?: Readonly<Record<string, string>>
): Promise<Result> {
  const { body } = await ask(app, 'tools/call', { name, arguments: args }, headers)
  if (body.result === undefined) throw new Error(JSON.stringify(body))
  return toResult(body.result)
}

export function toResult (result: object): Result {
  const { isError, content: [{ text }], structuredContent: content } = result as {
    isError?: boolean, content: [{ text: string }], structuredContent: Content
  }
  return { text, content, ...(isError === undefined ? {} : { isError }) }
}

/** The official client, over a socket. */
export async function connect (
  t: Pick<Test, 'teardown'>,
  app: FastifyInstance,
  mode: 'legacy' | 'auto' | { pin: string } = 'auto',
  headers: Readonly<Record<string, string>> = {}
): Promise<Client> {
  const url = app.server.listening ? app.listeningOrigin : await app.listen({ port: 0 })
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(new StreamableHTTPClientTransport(new URL('/crm/mcp', url), { requestInit: { headers } }))
  t.teardown(() => client.close())
  return client
}
