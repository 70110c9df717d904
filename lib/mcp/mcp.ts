import type {
  FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest, FastifySchema, RegisterOptions
} from 'fastify'
import fp from 'fastify-plugin'
import Negotiator from 'negotiator'
import {
  didYouMean, errorCodes, explainError, findMounts, makeValidator, type Members, prepareFront, Problem, Type
} from '../index.js'
import { callTool, listTools, makeTools, type Tool } from './tools.js'

/** Options of `mcp`. */
export interface McpOptions {
  /** Fastify's prefix: that of the families. */
  readonly prefix?: string
  /** The name and version of your server, for clients. Default: those of this package. */
  readonly serverInfo?: { readonly name: string, readonly version: string, readonly title?: string }
  /** Advice for the model. Default: how the tools work together. */
  readonly instructions?: string
  /** Origins, such as `https://example.org`, whose pages may call it; others get 403. Default: none. */
  readonly trustedOrigins?: readonly string[]
  /** Whether every change needs a command id, so that any call can be repeated. Default `optional`. */
  readonly commandIds?: 'optional' | 'required'
  /** Maximum bytes of a message. Default 1 MiB. */
  readonly bodyLimit?: number
}

const Text = Type.String({ minLength: 1 })
const findOptionFlaws = makeValidator(Type.Partial(Type.Object({
  prefix: Type.String(),
  serverInfo: Type.Object({ name: Text, version: Text, title: Type.Optional(Text) }, { additionalProperties: false }),
  instructions: Text,
  trustedOrigins: Type.Array(Type.String()),
  commandIds: Type.Union([Type.Literal('optional'), Type.Literal('required')]),
  bodyLimit: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
} satisfies Record<keyof McpOptions, unknown>), { additionalProperties: false }))

// The first is stateless. Clients of the others begin with initialize; nothing is kept of that.
const [latest, ...earlier] = ['2026-07-28', '2025-11-25', '2025-06-18'] as const
const versions: readonly string[] = [latest, ...earlier]

const defaultInfo = { name: 'fastify-dealbook', version: '0.1.0' }

const defaultInstructions = 'Items change only by operations. The tool that ends in _operations lists those of an ' +
  'item that the state allows now, and why it does not allow others. The tools that end in _find have cursors: pass ' +
  'next as after. Pass the revision that you read to refuse a change if the item has changed since. To be able to ' +
  'repeat a call safely, pass a command id that you choose, and repeat it with the same one.'

/**
 * Serves the Model Context Protocol at `{prefix}/mcp`: tools for the families that are registered at the same prefix
 * in the same scope, or in the nearest one around it that has any, before or after it.
 *
 * @example
 * app.register(deals, { storage, prefix: '/crm', version: 'v1' })
 * app.register(mcp, { prefix: '/crm' })   // POST /crm/mcp
 */
export const mcp: FastifyPluginAsync<McpOptions> = fp(async (scope: FastifyInstance, options: McpOptions) => {
  const { logLevel, logSerializers, ...ours } = options as McpOptions & RegisterOptions
  const [flaw] = findOptionFlaws(ours)
  if (flaw !== undefined) throw refuseOption(`the option "${flaw.pointer.slice(1)}" ${flaw.detail}`)
  await scope.register(async app => {
    mountMcp(app, scope, options)
  }, options as RegisterOptions)
}, { fastify: '5.x || 6.x', name: 'fastify-dealbook-mcp' })

function refuseOption (flaw: string): Error {
  return new errorCodes.FST_DEALBOOK_INVALID_OPTION('mcp', flaw)
}

const defaultBodyLimit = 1_048_576

function mountMcp (app: FastifyInstance, scope: FastifyInstance, options: McpOptions): void {
  const { bodyLimit = defaultBodyLimit, trustedOrigins = [], commandIds = 'optional' } = options
  const { serverInfo = defaultInfo, instructions = defaultInstructions } = options
  prepareFront(app, { maxMembers: 1000 * Math.max(1, Math.floor(bodyLimit / defaultBodyLimit)), maxDepth: 22 })
  app.setErrorHandler(sendError)
  // Browsers send an Origin, other clients do not. A page that rebinds its name has the Host of its own origin, so
  // only a list of origins protects a server in a private network.
  app.addHook('onRequest', async ({ headers: { origin } }) => {
    if (origin === undefined || trustedOrigins.includes(origin)) return
    const detail = `A page of ${clip(origin)} may not send this; the option trustedOrigins can allow it`
    throw new Problem('cross-site', detail)
  })
  const needsCommand = commandIds === 'required'
  const tools = new Map<string, Tool>()
  // Only now are all families known.
  app.addHook('onReady', async () => {
    const mounts = findMounts(scope, app.prefix).filter(({ isDefault }) => isDefault)
    if (mounts.length === 0) throw refuseOption(`there is no family at the prefix "${app.prefix}" in this scope`)
    for (const [name, tool] of makeTools(mounts, needsCommand)) tools.set(name, tool)
  })
  for (const url of ['/mcp', '/mcp/']) {
    // A router that ignores the slash has it already.
    if (app.hasRoute({ method: 'POST', url: app.prefix + url })) continue
    app.route({
      method: ['POST', 'GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'],
      url,
      schema: { hide: true } as FastifySchema,
      bodyLimit,
      exposeHeadRoute: false,
      handler: (request, reply) => answer({ tools, needsCommand, serverInfo, instructions }, request, reply)
    })
  }
}

interface Server extends Required<Pick<McpOptions, 'serverInfo' | 'instructions'>> {
  readonly tools: ReadonlyMap<string, Tool>
  readonly needsCommand: boolean
}

/** An error of the protocol, as opposed to a refusal by a tool. */
class RpcError extends Error {
  constructor (readonly code: number, message: string, readonly status: number, readonly data?: Members) {
    super(message)
  }
}

const codes = {
  parse: -32700, request: -32600, method: -32601, params: -32602, internal: -32603, header: -32020, version: -32022
}

interface Message {
  readonly id: string | number
  readonly method: string
  readonly params: Members
}

/** The pipeline of every message: read it, agree on the version, run the method. */
async function answer (server: Server, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  if (request.method !== 'POST') {
    const detail = `${request.method} is not allowed here; allowed: POST`
    throw new Problem('method-not-allowed', detail, { headers: { allow: 'POST' } })
  }
  if (new Negotiator(request.raw).mediaType(['application/json']) === undefined) {
    throw new Problem('not-acceptable', 'The response is application/json')
  }
  const message = readMessage(request.body)
  // A notification: nothing here depends on one.
  if (message === undefined) return await reply.code(202).send()
  const isLatest = checkVersion(request, message)
  const result = await runMethod(server, message, request, isLatest)
  const shared = isLatest ? { resultType: 'complete', _meta: { [`${meta}serverInfo`]: server.serverInfo } } : {}
  return sendMessage(reply, { jsonrpc: '2.0', id: message.id, result: { ...shared, ...result } })
}

function readMessage (body: unknown): Message | undefined {
  const { jsonrpc, id, method, params = {} } = isMembers(body) ? body : {}
  const isValid = jsonrpc === '2.0' && typeof method === 'string' && isMembers(params) &&
    (id === undefined || typeof id === 'string' || Number.isFinite(id))
  if (!isValid) throw new RpcError(codes.request, 'The body must be one JSON-RPC 2.0 request or notification', 400)
  return id === undefined ? undefined : { id: id as Message['id'], method, params }
}

const meta = 'io.modelcontextprotocol/'

/** Returns whether the message has the latest version, of which every request has its own metadata. */
function checkVersion ({ headers }: FastifyRequest, { method, params }: Message): boolean {
  const given = isMembers(params._meta) ? params._meta : {}
  const claimed = given[`${meta}protocolVersion`]
  const header = headers['mcp-protocol-version']
  // The earlier handshake has the version in its parameters.
  if (claimed === undefined && method === 'initialize') return false
  if (claimed !== undefined && claimed !== header) throw mismatch('MCP-Protocol-Version', header, claimed)
  if (header !== undefined && !versions.includes(String(header))) {
    const data = { supported: versions, requested: header }
    throw new RpcError(codes.version, 'Unsupported protocol version', 400, data)
  }
  if (header !== latest) return false
  for (const key of ['protocolVersion', 'clientCapabilities'].map(name => meta + name)) {
    if (given[key] === undefined) throw new RpcError(codes.params, `params._meta lacks ${key}`, 400)
  }
  if (headers['mcp-method'] !== method) throw mismatch('Mcp-Method', headers['mcp-method'], method)
  const name = headers['mcp-name']
  if (method === 'tools/call' && name !== params.name) throw mismatch('Mcp-Name', name, params.name)
  return true
}

function mismatch (header: string, sent: unknown, expected: unknown): RpcError {
  const detail = sent === undefined
    ? 'is missing'
    : `"${clip(String(sent))}" does not match "${clip(String(expected))}" in the body`
  return new RpcError(codes.header, `Header mismatch: ${header} ${detail}`, 400)
}

const capabilities = { tools: {} }
// A list depends on the caller; its clients may keep it for a minute.
const cached = { ttlMs: 60_000, cacheScope: 'private' }

async function runMethod (
  { tools, needsCommand, serverInfo, instructions }: Server,
  { method, params }: Message,
  request: FastifyRequest,
  isLatest: boolean
): Promise<Members> {
  if (method === 'tools/call') {
    const { name, arguments: sent = {} } = params
    const tool = tools.get(String(name))
    if (tool === undefined) {
      const hint = didYouMean(String(name), tools.keys())
      throw new RpcError(codes.params, `Unknown tool: ${clip(String(name))}.${hint}`, 200)
    }
    if (!isMembers(sent)) throw new RpcError(codes.params, 'arguments must be an object', 200)
    return await callTool(tool, request, sent)
  }
  if (method === 'tools/list') {
    if (params.cursor !== undefined) throw new RpcError(codes.params, 'Unknown cursor: all tools are on one page', 200)
    return { tools: await listTools(tools.values(), request, needsCommand), ...isLatest && cached }
  }
  if (isLatest && method === 'server/discover') {
    return { supportedVersions: versions, capabilities, instructions, ...cached }
  }
  if (!isLatest && method === 'initialize') {
    const protocolVersion = earlier.find(version => version === params.protocolVersion) ?? earlier[0]
    return { protocolVersion, capabilities, serverInfo, instructions }
  }
  if (!isLatest && method === 'ping') return {}
  throw new RpcError(codes.method, `Unknown method: ${clip(method)}`, isLatest ? 404 : 200)
}

function sendMessage (reply: FastifyReply, message: Members): FastifyReply {
  // A hook of the host may have set a serializer, which would encode the text again.
  return reply.headers({ 'content-type': 'application/json; charset=utf-8', vary: 'Accept' }).serializer(String)
    .send(JSON.stringify(message))
}

function isMembers (value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What a client sent may be as long as its message. */
function clip (text: string): string {
  return text.slice(0, 100)
}

/** Errors of the protocol, of hooks, of the parser, and refusals that ask to sign in. */
function sendError (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { id } = isMembers(request.body) ? request.body : {}
  const known = typeof id === 'string' || Number.isFinite(id) ? { id } : {}
  if (error instanceof RpcError) {
    const { code, message, data } = error
    const explained = { code, message, ...(data && { data }) }
    return sendMessage(reply.code(error.status), { jsonrpc: '2.0', ...known, error: explained })
  }
  const problem = explainError(error, request)
  const { statusCode, message, headers } = problem
  const code = problem.code === 'malformed-json' ? codes.parse : statusCode >= 500 ? codes.internal : codes.request
  return sendMessage(reply.code(statusCode).headers(headers),
    { jsonrpc: '2.0', ...known, error: { code, message, data: problem.document() } })
}
