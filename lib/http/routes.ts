import type {
  FastifyInstance, FastifyReply, FastifyRequest, FastifySchema, RouteOptions
} from 'fastify'
import { errorCodes } from '../core/errors.js'
import { waitToBegin } from '../core/phases.js'
import { isRouterSet } from './router.js'

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
  /** By whom the path is shared: the versions of a family, as it has none, or all families at the prefix. */
  readonly sharedBy?: 'versions' | 'families'
  /** Called first, whatever the method on its path; what it throws is the answer. */
  readonly before?: (reply: FastifyReply) => void
}

/** What all routes of a mount have. */
export interface RouteSettings {
  readonly bodyLimit: number
}

/**
 * Declares endpoints: each path with and without a trailing slash, and HEAD with every GET, whatever the host's own
 * settings for these are.
 */
export function mountEndpoints (app: FastifyInstance, endpoints: readonly Endpoint[], settings: RouteSettings): void {
  const ends = isRouterSet(app, 'ignoreTrailingSlash') ? [''] : ['', '/']
  for (const endpoint of endpoints) {
    for (const end of ends) {
      declareRoute(app, settings, endpoint, endpoint.path + end, end === '' ? endpoint.schema : hide(endpoint.schema))
    }
  }
}

/** Declares what can be read at the prefix of a scope, with and without a slash at its end. */
export function mountRoot (app: FastifyInstance, settings: RouteSettings, handler: Endpoint['handler']): void {
  const { prefix } = app
  // A parameter at the end of the prefix would take all words there.
  const isOpen = prefix === '' || /[:*][^/]*$/.test(prefix)
  const paths = prefix.endsWith('/') ? [''] : isOpen ? ['/'] : ['', '/']
  for (const path of isRouterSet(app, 'ignoreTrailingSlash') ? paths.slice(0, 1) : paths) {
    declareRoute(app, settings, { method: 'GET', handler }, path, { hide: true })
  }
}

// The same once more is in the documentation already.
function hide ({ consumes }: RouteSchema): RouteSchema {
  return consumes === undefined ? { hide: true } : { hide: true, consumes }
}

// For @fastify/response-validation: our answers are text by the time it would look, and what we describe is OpenAPI.
const documentedOnly: object = { responseValidation: false }

function declareRoute (
  app: FastifyInstance,
  { bodyLimit }: RouteSettings,
  { method, handler, before }: Pick<Endpoint, 'method' | 'handler' | 'before'>,
  url: string,
  schema: RouteSchema
): void {
  const route: RouteOptions = {
    ...documentedOnly,
    method,
    url,
    schema,
    bodyLimit,
    prefixTrailingSlash: 'slash',
    exposeHeadRoute: false,
    handler: beginTogether(handler),
    ...(before && { onRequest: async (_request: FastifyRequest, reply: FastifyReply) => { before(reply) } })
  }
  try {
    app.route(route)
    if (method === 'GET') app.route({ ...route, method: 'HEAD', schema: { hide: true } })
  } catch (error) {
    if ((error as { code?: string }).code !== 'FST_ERR_DUPLICATED_ROUTE') throw error
    // A prefix with a slash at its end is the same place.
    const path = `${app.prefix.replace(/\/+$/, '')}${url}`
    throw new errorCodes.FST_DEALBOOK_ROUTE_TAKEN(path, { cause: error })
  }
}

function beginTogether (answer: Endpoint['handler']): Endpoint['handler'] {
  return (request, reply) => waitToBegin().then(() => answer(request, reply))
}
