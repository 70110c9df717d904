import type {
  FastifyInstance, FastifyReply, FastifyRequest, FastifySchema, HTTPMethods, RouteOptions
} from 'fastify'
import { errorCodes } from '../core/errors.js'
import { waitToBegin } from '../core/phases.js'
import { Problem } from '../core/problems.js'
import { listAccepted } from './media-types.js'
import { readRouterSetting } from './router.js'

/** The documentation of a route, for a host's OpenAPI document; bodies and queries are judged elsewhere. */
export interface RouteSchema extends FastifySchema {
  readonly operationId?: string
  readonly summary?: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly deprecated?: boolean
  readonly hide?: boolean
  /** The media types of the body, where it is not only JSON. */
  readonly consumes?: readonly string[]
  readonly [extension: `x-${string}`]: unknown
}

/** One method on one path. Several endpoints may stand on one path, each with its own method. */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly schema: RouteSchema
  readonly handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
  /** Whether it stands on a path that several mounts share, and that outlives each of them. */
  readonly isShared?: boolean
  /** Called first, whatever the method on its path; what it throws is the answer. */
  readonly before?: (reply: FastifyReply) => void
}

/** What all routes of a mount have. */
export interface RouteSettings {
  readonly bodyLimit: number
}

/**
 * Registers endpoints: each path with and without a trailing slash, HEAD with every GET, OPTIONS, and 405 with `Allow`
 * for every other method, whatever the host's own settings for these are.
 */
export function mountEndpoints (app: FastifyInstance, endpoints: readonly Endpoint[], settings: RouteSettings): void {
  for (const path of new Set(endpoints.map(endpoint => endpoint.path))) {
    const here = endpoints.filter(endpoint => endpoint.path === path)
    const [plain, ...others] = listSpellings(app, path)
    mountPath(app, plain, here, settings)
    // The same once more; the documentation has it already.
    for (const url of others) mountPath(app, url, here.map(hide), settings)
  }
}

// To a router that ignores trailing slashes, both are one path.
function listSpellings (app: FastifyInstance, path: string): [string, ...string[]] {
  return readRouterSetting(app, 'ignoreTrailingSlash') ? [path] : [path, `${path}/`]
}

const hidden: RouteSchema = { hide: true }

/** Declares a path that can be read, and leaves its other methods to the host. */
export function declareRead (
  app: FastifyInstance,
  settings: RouteSettings,
  url: string,
  answer: Endpoint['handler']
): void {
  const handler = beginTogether(answer)
  declareRoute(app, settings, { method: 'GET', url, schema: hidden, handler, exposeHeadRoute: false })
  declareRoute(app, settings, { method: 'HEAD', url, schema: hidden, handler })
}

function beginTogether (answer: Endpoint['handler']): Endpoint['handler'] {
  return (request, reply) => {
    const { raw } = request
    // Over HTTP/2, many requests come at once over one connection.
    const beginning = waitToBegin(raw.httpVersionMajor === 1 ? raw.socket : undefined)
    return beginning === undefined ? answer(request, reply) : beginning.then(() => answer(request, reply))
  }
}

function hide (endpoint: Endpoint): Endpoint {
  const { consumes } = endpoint.schema
  return { ...endpoint, schema: consumes === undefined ? hidden : { ...hidden, consumes } }
}

function mountPath (
  app: FastifyInstance,
  url: string,
  endpoints: readonly Endpoint[],
  settings: RouteSettings
): void {
  const methods = listMethods(endpoints)
  const before = endpoints[0]?.before
  const first = before && { onRequest: async (_request: FastifyRequest, reply: FastifyReply) => { before(reply) } }
  for (const { method, schema, handler: answer } of endpoints) {
    const handler = beginTogether(answer)
    declareRoute(app, settings, { method, url, schema, handler, exposeHeadRoute: false, ...first })
    if (method === 'GET') declareRoute(app, settings, { method: 'HEAD', url, schema: hidden, handler, ...first })
  }
  declareRoute(app, settings, {
    method: 'OPTIONS',
    url,
    schema: hidden,
    ...first,
    handler: async (_request, reply) =>
      await reply.code(204).headers({ allow: methods.join(', '), ...listAccepted(endpoints) }).send()
  })
  const others = app.supportedMethods.filter(method => !methods.includes(method)) as HTTPMethods[]
  declareRoute(app, settings, {
    method: others,
    url,
    schema: hidden,
    exposeHeadRoute: false,
    // Before the body is looked at, so that its faults do not hide this one.
    onRequest: async (request, reply) => {
      before?.(reply)
      refuseMethod(endpoints, request)
    },
    handler: async () => {}
  })
}

/** The methods that can be used where these endpoints stand. */
function listMethods (endpoints: readonly Endpoint[]): string[] {
  const methods = endpoints.flatMap(({ method }) => method === 'GET' ? [method, 'HEAD'] : [method])
  return [...new Set([...methods, 'OPTIONS'])].sort()
}

/** The problem of a method that none of the endpoints of a path has. */
export function refuseMethod (endpoints: readonly Endpoint[], { method }: FastifyRequest): never {
  const allow = listMethods(endpoints).join(', ')
  throw new Problem('method-not-allowed', `${method} is not allowed here; allowed: ${allow}`, { headers: { allow } })
}

// For @fastify/response-validation: our answers are text by the time it would look, and what we describe is OpenAPI.
const documentedOnly: object = { responseValidation: false }

function declareRoute (app: FastifyInstance, { bodyLimit }: RouteSettings, route: RouteOptions): void {
  try {
    app.route({ ...route, ...documentedOnly, bodyLimit })
  } catch (error) {
    if ((error as { code?: string }).code !== 'FST_ERR_DUPLICATED_ROUTE') throw error
    // A prefix with a slash at its end is the same place.
    const path = `${app.prefix.replace(/\/+$/, '')}${route.url}`
    throw new errorCodes.FST_DEALBOOK_ROUTE_TAKEN(path, { cause: error })
  }
}
