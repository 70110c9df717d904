import type {
  FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest, FastifySchema, RouteOptions
} from 'fastify'
import { errorCodes } from '../core/errors.js'
import { waitToBegin } from '../core/phases.js'
import { Problem } from '../core/problems.js'
import type { FamilyMount, RouteModel, RouteTarget } from '../representations/target.js'
import { writeHttpDate } from './conditional.js'
import { queryTypes } from './negotiate.js'
import { addLinks } from './reply.js'
import { isRouterSet } from './request.js'

/** The schema of a route; it validates nothing. */
interface RouteSchema extends FastifySchema {
  /** Whether documents do not show it. */
  readonly hide?: boolean
  /** The media types of the body, unless it is only JSON. */
  readonly consumes?: readonly string[]
}

/** What documents say about a route. */
export interface Documented extends Pick<RouteModel, 'kind' | 'query'> {
  readonly isShared?: boolean
  readonly forms?: readonly string[]
  /** The operation that it runs. */
  readonly action?: string
  /** Default: the mount. Called once the application is loaded. */
  targets? (): readonly RouteTarget[]
}

export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  /** Undefined if documents do not show it. */
  readonly documented?: Documented
  /** The media types of the body, unless it is only JSON. */
  readonly consumes?: readonly string[]
  readonly handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
  /** Of GET: also for QUERY (RFC 10008), whose body has the parameters. */
  readonly isList?: boolean
  /** The word in the path that names an operation. Endpoints of a mount that only differ in it are one route. */
  readonly word?: string
  /** The path has no version and is shared by those of the family, or by all families at the prefix. */
  readonly sharedBy?: 'versions' | 'families'
  /** Called first for every method on the path; may throw a problem. */
  readonly before?: (reply: FastifyReply) => void
}

export interface RouteSettings {
  readonly mount: FamilyMount
  /** Gets those that documents show. */
  readonly routes: RouteModel[]
  /** The last one, as hooks of the host left it. */
  declared?: RouteOptions
  readonly bodyLimit: number
  readonly unknown: Endpoint['handler']
}

/** Each path with and without a trailing slash, and HEAD with every GET, regardless of the host's settings. */
export function mountEndpoints (app: FastifyInstance, endpoints: readonly Endpoint[], settings: RouteSettings): void {
  const routes = shareRoutes(app, endpoints, settings.mount)
  for (const endpoint of routes) declareRoute(app, settings, endpoint, endpoint.path)
  const unknown = endpoints.flatMap(({ method, path }): Endpoint[] => {
    const parent = path.replace(/\/:\w+$/, '')
    const methods = endpoints.filter(each => each.path === parent).map(each => each.method)
    if (parent === path || methods.length === 0 || methods.includes(method)) return []
    // Another mount may have it, such as the feed.
    if (app.hasRoute({ method, url: `${app.prefix.replace(/\/+$/, '')}${parent}/` })) return []
    // To the router, the parameter of DELETE /deals/:id is just empty in DELETE /deals/.
    return [{ method, path: parent, handler: settings.unknown }]
  })
  mountSlashed(app, isRouterSet(app, 'ignoreTrailingSlash') ? unknown : [...routes, ...unknown], settings)
}

/** These paths with a slash, not documented again. One route for several methods takes less time at boot. */
function mountSlashed (app: FastifyInstance, endpoints: readonly Endpoint[], settings: RouteSettings): void {
  const alike = new Map<string, Endpoint[]>()
  for (const endpoint of endpoints) {
    const { path, consumes = [], before, isList } = endpoint
    const key = [path, before === undefined, isList === true, ...consumes].join(' ')
    alike.set(key, [...alike.get(key) ?? [], endpoint])
  }
  for (const group of alike.values()) {
    const [{ path, consumes, before, isList = false }] = group as [Endpoint]
    const byMethod = new Map<string, Endpoint>(group.map(each => [each.method, each]))
    const handler: Endpoint['handler'] = (request, reply) =>
      (byMethod.get(request.method) ?? byMethod.get('GET') as Endpoint).handler(request, reply)
    const route = { method: group.map(({ method }) => method), handler, isList, ...(before && { before }) }
    declareRoute(app, settings, { ...route, ...(consumes && { consumes }) }, `${path}/`)
  }
}

/** One route for all words takes less time at boot than one for each, and less space in documents. */
function shareRoutes (app: FastifyInstance, endpoints: readonly Endpoint[], mount: FamilyMount): Endpoint[] {
  const shared = new Map<string, Map<string, Endpoint>>()
  for (const endpoint of endpoints) {
    const { method, path, word = '' } = endpoint
    const key = `${method} ${word === '' ? path : path.replace(`/:id/${word}`, '/:id/:word')}`
    shared.set(key, (shared.get(key) ?? new Map<string, Endpoint>()).set(word, endpoint))
  }
  return Array.from(shared, ([key, byWord]) => {
    const [first] = [...byWord.values()] as [Endpoint]
    if (first.word === undefined) return first
    const pattern = [...byWord.keys()].join('|')
    const anyCase = pattern.replace(/[a-z]/g, letter => `[${letter}${letter.toUpperCase()}]`)
    const words = isRouterSet(app, 'caseSensitive', false) ? anyCase : pattern
    const targets = Array.from(byWord, ([word, { documented: { action = '' } = {} }]) => ({ mount, action, word }))
    return {
      ...first,
      ...(first.documented && { documented: { ...first.documented, targets: () => targets } }),
      path: key.slice(key.indexOf('/')).replace('/:word', `/:word(^(?:${words})$)`),
      handler: (request, reply) => {
        const { word } = request.params as { word: string }
        return (byWord.get(word.toLowerCase()) as Endpoint).handler(request, reply)
      }
    }
  })
}

/** Fastify looks for the name of a plugin that has none in all that was loaded, which takes time at boot. */
export function namePlugin (name: string, plugin: FastifyPluginAsync): FastifyPluginAsync {
  return Object.assign(plugin, { [Symbol.for('fastify.display-name')]: name })
}

/** For documents to show a path of several routes, which are hidden; its own route matches nothing. */
export function documentRoute (
  app: FastifyInstance, settings: RouteSettings, path: string, documented: Documented
): void {
  const url = `${path}(^(?!)$)`
  // Another scope at the same prefix may have it.
  if (app.hasRoute({ method: 'POST', url: app.prefix.replace(/\/+$/, '') + url })) return
  declareRoute(app, settings, { method: 'POST', handler: settings.unknown, documented }, url)
}

export function mountRoot (
  app: FastifyInstance,
  settings: RouteSettings,
  documented: Documented,
  handler: Endpoint['handler']
): void {
  const { prefix } = app
  // A parameter at the end of the prefix would match every word there.
  const isOpen = prefix === '' || /[:*][^/]*$/.test(prefix)
  const paths = prefix.endsWith('/') ? [''] : isOpen ? ['/'] : ['', '/']
  for (const path of isRouterSet(app, 'ignoreTrailingSlash') ? paths.slice(0, 1) : paths) {
    declareRoute(app, settings, { method: 'GET', handler, ...(path === paths[0] && { documented }) }, path)
  }
}

const adviceForOwn = 'It belongs to your application, or to a family in a different scope. Choose a different prefix ' +
  'or version'
const adviceForShared = 'Register the families of one prefix in one scope, or set "unversioned: false" for one of ' +
  'them, which leaves /rest/commands, /command and /query to the others'

interface Declared extends Pick<Endpoint, 'handler' | 'before' | 'isList' | 'documented' | 'consumes'> {
  readonly method: Endpoint['method'] | Endpoint['method'][]
}

function declareRoute (
  app: FastifyInstance,
  settings: RouteSettings,
  declared: Declared,
  url: string
): void {
  const { method, handler, before, isList = false, documented, consumes } = declared
  const schema: RouteSchema = { ...(documented === undefined && { hide: true }), ...(consumes && { consumes }) }
  const route: RouteOptions = {
    // For @fastify/response-validation: our responses are already text when it checks them.
    ...{ responseValidation: false },
    method,
    url,
    schema,
    bodyLimit: settings.bodyLimit,
    prefixTrailingSlash: 'slash',
    exposeHeadRoute: false,
    handler (request, reply) {
      const beginning = waitForTurn(request)
      return beginning === undefined ? handler(request, reply) : beginning.then(() => handler(request, reply))
    },
    ...(before && { onRequest: async (_request: FastifyRequest, reply: FastifyReply) => { before(reply) } })
  }
  try {
    const isRead = method.includes('GET')
    // Documents would show HEAD of a route that they show.
    const isOne = isRead && schema.hide === true
    const hasQuery = isList && app.supportedMethods.includes('QUERY')
    const others = hasQuery ? ['HEAD', 'QUERY'] : ['HEAD']
    const hidden: RouteSchema = { hide: true, ...(hasQuery && { consumes: queryTypes }) }
    app.route(isOne ? { ...route, method: [...others, ...[method].flat()], schema: { ...schema, ...hidden } } : route)
    if (documented !== undefined) settings.routes.push(showRoute(settings, declared, documented, url))
    if (isRead && !isOne) app.route({ ...route, method: others, schema: hidden })
  } catch (error) {
    if ((error as { code?: string }).code !== 'FST_ERR_DUPLICATED_ROUTE') throw error
    const advice = /^\/(?:rest\/commands|command|query)\b/.test(url) ? adviceForShared : adviceForOwn
    // A prefix with a trailing slash is the same prefix.
    throw new errorCodes.FST_DEALBOOK_ROUTE_TAKEN(app.prefix.replace(/\/+$/, '') + url, advice, { cause: error })
  }
}

function showRoute (
  { mount, declared: route = {} as RouteOptions }: RouteSettings,
  { method }: Declared,
  { kind, query, isShared = false, forms = [], action, targets }: Documented,
  url: string
): RouteModel {
  const [single] = [method].flat() as [Endpoint['method']]
  return {
    kind,
    method: single,
    // Without the pattern of a parameter.
    path: url.replace(/\(.*\)$/, ''),
    isShared,
    forms,
    ...query !== undefined && { query },
    get targets () { return targets?.() ?? [{ mount, ...action !== undefined && { action } }] },
    get schema () { return route.schema as FastifySchema }
  }
}

/** Requests that arrive at once begin together; undefined if one need not wait. */
export function waitForTurn ({ raw }: FastifyRequest): Promise<void> | undefined {
  // Over HTTP/2, many requests arrive at once on one connection.
  return waitToBegin(raw.httpVersionMajor === 1 ? raw.socket : undefined)
}

export interface Retirement {
  readonly deprecation: Date | undefined
  readonly sunset: Date | undefined
  readonly successor: string | undefined
  clock (): Date
}

/** Adds headers that announce the end, and 410 after the sunset. */
export function announceRetirement (endpoint: Endpoint, retirement: Retirement): Endpoint {
  const { deprecation, sunset, successor } = retirement
  if (deprecation === undefined && sunset === undefined && successor === undefined) return endpoint
  return { ...endpoint, before: reply => retire(reply, retirement) }
}

/** RFC 9745 and RFC 8594; throws a problem if the version has ended. */
export function retire (reply: FastifyReply, retirement: Retirement): void {
  const { deprecation, sunset, successor } = retirement
  if (deprecation !== undefined) reply.header('deprecation', `@${Math.floor(deprecation.getTime() / 1000)}`)
  if (sunset !== undefined) reply.header('sunset', writeHttpDate(sunset.toISOString()))
  if (successor !== undefined) addLinks(reply, { 'successor-version': successor })
  if (hasEnded(retirement)) throw explainEnd(retirement)
}

export function explainEnd ({ sunset, successor }: Retirement): Problem {
  const next = successor === undefined ? '' : `; use ${successor}`
  return new Problem('gone', `This version ended on ${sunset?.toISOString()}${next}`)
}

export function hasEnded ({ sunset, clock }: Retirement): boolean {
  return sunset !== undefined && sunset.getTime() <= clock().getTime()
}
