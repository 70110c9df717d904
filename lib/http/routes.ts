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
  /** Of the routes that come after all others, and are in no document. */
  readonly lastConfig: object
}

/**
 * Declares endpoints: each path with and without a trailing slash, and HEAD with every GET, whatever the host's own
 * settings for these are.
 */
export function mountEndpoints (app: FastifyInstance, endpoints: readonly Endpoint[], settings: RouteSettings): void {
  for (const endpoint of endpoints) declareRoute(app, settings, endpoint)
  const ends = isRouterSet(app, 'ignoreTrailingSlash') ? [''] : ['', '/']
  for (const endpoint of endpoints) {
    for (const end of ends) {
      const again = { ...endpoint, path: endpoint.path + end, schema: hide(endpoint.schema) }
      if (end !== '') declareRoute(app, settings, again)
      if (endpoint.method === 'GET') declareRoute(app, settings, { ...again, method: 'HEAD' })
    }
  }
}

/** Declares what answers at the prefix of a scope, with and without a slash at its end. */
export function mountRoot (app: FastifyInstance, endpoint: Endpoint, settings: RouteSettings): void {
  const { prefix } = app
  // A parameter at the end of the prefix would take all words there.
  const isOpen = prefix === '' || /[:*][^/]*$/.test(prefix)
  const paths = prefix.endsWith('/') ? [''] : isOpen ? ['/'] : ['', '/']
  const schema = hide(endpoint.schema)
  for (const [index, path] of paths.entries()) {
    if (index > 0 && isRouterSet(app, 'ignoreTrailingSlash')) break
    declareRoute(app, settings, { ...endpoint, path, ...(index > 0 && { schema }) })
    declareRoute(app, settings, { ...endpoint, method: 'HEAD', path, schema })
  }
}

function hide ({ consumes }: RouteSchema): RouteSchema {
  return consumes === undefined ? { hide: true } : { hide: true, consumes }
}

// For @fastify/response-validation: our answers are text by the time it would look, and what we describe is OpenAPI.
const documentedOnly: object = { responseValidation: false }

function declareRoute (
  app: FastifyInstance,
  { bodyLimit, lastConfig }: RouteSettings,
  { method, path, schema, handler, before }: Omit<Endpoint, 'method'> & { readonly method: Endpoint['method'] | 'HEAD' }
): void {
  try {
    app.route({
      ...documentedOnly,
      method,
      url: path,
      schema,
      bodyLimit,
      prefixTrailingSlash: 'slash',
      exposeHeadRoute: false,
      handler: beginTogether(handler),
      ...(schema.hide === true && { config: lastConfig as NonNullable<RouteOptions['config']> }),
      ...(before && { onRequest: async (_request: FastifyRequest, reply: FastifyReply) => { before(reply) } })
    })
  } catch (error) {
    if ((error as { code?: string }).code !== 'FST_ERR_DUPLICATED_ROUTE') throw error
    // A prefix with a slash at its end is the same place.
    const whole = `${app.prefix.replace(/\/+$/, '')}${path}`
    throw new errorCodes.FST_DEALBOOK_ROUTE_TAKEN(whole, { cause: error })
  }
}

function beginTogether (answer: Endpoint['handler']): Endpoint['handler'] {
  return async (request, reply) => {
    await waitToBegin()
    return await answer(request, reply)
  }
}
