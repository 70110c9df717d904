import type { FastifyInstance } from 'fastify'
import type { Endpoint, RouteSettings } from './routes.js'
import { declareRead } from './routes.js'

/** Whether a route of the host's stands at the prefix of a scope, as far as it is declared by now. */
export function hasOwnRoot (app: FastifyInstance): boolean {
  const path = app.prefix.replace(/\/+$/, '')
  return [path, `${path}/`].some(url => url !== '' && app.hasRoute({ method: 'GET', url }))
}

// A parameter that is always empty.
const nothing = ':dealbookHome(^$)'

/**
 * Answers at the prefix of a scope, with and without a slash at its end, where the host has nothing there. What matches
 * is a parameter that is empty: to the router it is another path than a route of the host's, which is preferred to it,
 * whichever of them is declared first.
 *
 * @returns whether it does
 */
export function mountRoot (app: FastifyInstance, settings: RouteSettings, handler: Endpoint['handler']): boolean {
  const path = app.prefix.replace(/\/+$/, '')
  if (isTaken(app, path)) return false
  const slash = app.prefix.endsWith('/') ? '' : '/'
  // A parameter at the end of the prefix takes all up to the slash.
  const isBare = slash !== '' && path !== '' && !/[:*][^/]*$/.test(path)
  if (isBare) declareRead(app, settings, nothing, handler)
  declareRead(app, settings, `${slash}${nothing}`, handler)
  return true
}

// What takes everything below a path, or any word there, takes the empty one too.
function isTaken (app: FastifyInstance, path: string): boolean {
  const above = path.split('/').map((_, index, parts) => parts.slice(0, index + 1).join('/'))
  const patterns = [`${path}/:word`, ...above.map(each => `${each}/*`), '*']
  return patterns.some(url => app.hasRoute({ method: 'GET', url }))
}
