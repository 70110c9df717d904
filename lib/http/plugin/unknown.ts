import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../core/problems.js'
import { decodeText } from '../../core/query/query-string.js'
import { intendToList, intendToRead } from '../../core/service/caller.js'
import { didYouMean, shorten } from '../../core/values/words.js'
import type { Mount } from '../mount.js'
import { listAccepted } from '../negotiate.js'
import { tryEach } from '../reply.js'
import { splitUrl } from '../request.js'
import { type Endpoint, namePlugin, retire } from '../routes.js'

/** Handles unmatched requests under the prefix or, without one, on the paths of the family; the host handles others. */
export function mountUnknown (app: FastifyInstance, mount: Mount): void {
  const { family: { name }, home, unversioned, prefix } = mount
  const shared = ['/query', '/command', '/rest/commands', `/rest/:parameter/${name}`]
  const all = prefix === '' ? [home, ...shared] : ['/']
  for (const path of unversioned === false ? [home] : all) setNotFoundHandler(app, mount, path)
}

// By server: only one not-found handler can be set at a path.
const taken = new WeakMap<object, Set<string>>()

// An empty end or a suffix: the router then keeps ours apart from a handler of the host on the same path, which comes
// first. The parameter is named like one of our routes, which no prefix can have.
const end = ':extension(|\\.[^/]+)'
const anything = ':extension([^/]*)'

function setNotFoundHandler (app: FastifyInstance, mount: Mount, path: string): void {
  const paths = taken.get(app.server) ?? new Set()
  taken.set(app.server, paths)
  if (paths.has(mount.prefix + path)) return
  paths.add(mount.prefix + path)
  app.register(namePlugin('fastify-dealbook-unknown', async scope => {
    // The body is not read.
    scope.removeAllContentTypeParsers()
    scope.setNotFoundHandler((request, reply) => answerUnknown(mount, request, reply))
  }), { prefix: path === '/' ? path + anything : path + end })
}

/** `depth` is the number of segments that match the request. */
interface Known {
  readonly mount: Mount
  readonly endpoint: Endpoint
  readonly parts: readonly string[]
  readonly depth: number
}

export async function answerUnknown (
  mount: Mount,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  const segments = splitSegments(splitUrl(request).path)
    .slice(splitSegments(mount.prefix).length)
    .map(segment => decodeText(segment) ?? segment)
  const known = mount.neighbours.endpoints.map(({ mount, endpoint }): Known => {
    const parts = splitSegments(endpoint.path)
    const end = parts.findIndex((part, index) => !fits(part, segments[index]))
    return { mount, endpoint, parts, depth: end === -1 ? parts.length : end }
  })
  const depth = Math.max(...known.map(({ depth }) => depth))
  const near = known.filter(each => each.depth === depth)
  const here = near.filter(({ parts }) => depth === segments.length && parts.length === depth)
  if (here.length > 0) {
    here[0]?.endpoint.before?.(reply)
    const methods = here.flatMap(({ endpoint: { method, isList } }) =>
      method === 'GET' ? [method, 'HEAD', ...isList === true ? ['QUERY'] : []] : [method])
    const allow = [...new Set([...methods, 'OPTIONS'])].sort().join(', ')
    if (request.method === 'OPTIONS') {
      return reply.code(204).headers({ allow, ...listAccepted(here.map(({ endpoint }) => endpoint)) }).send()
    }
    const detail = `${request.method} is not allowed here; allowed: ${allow}`
    throw new Problem('method-not-allowed', detail, { headers: { allow } })
  }
  const owner = mount.neighbours.mounts.find(each => isBelow(each, segments))
  if (owner !== undefined) retire(reply, owner.retirement)
  const word = segments[depth]
  const named = mount.neighbours.list().filter(({ family }) => family.name === word)
  const mounts = [...new Set([...near.map(({ mount }) => mount), ...named])]
  // Only mounts that the caller may know of.
  const open = await tryEach(mounts, async each => {
    const { family, home } = each
    const id = isBelow(each, segments) ? family.readId(segments[splitSegments(home).length] ?? '') : undefined
    await each.caller(request).authorize(id === undefined ? intendToList(family) : intendToRead(family, id))
    return each
  })
  const elsewhere = named.filter(mount => open.includes(mount)).map(({ urls }) => urls.collection(request))
  throw explain(near.filter(({ mount }) => open.includes(mount)), word, depth, elsewhere)
}

function splitSegments (path: string): string[] {
  return path.split('/').filter(segment => segment !== '')
}

/** `part` may have a parameter, such as `:id` or `deals.:extension`. */
function fits (part: string, segment: string | undefined): boolean {
  const [start = '', parameter] = part.split(':')
  return parameter === undefined ? part === segment : segment?.startsWith(start) === true && segment !== start
}

function isBelow ({ home }: Mount, segments: readonly string[]): boolean {
  return splitSegments(home).every((part, index) => fits(part, segments[index]))
}

/** @param elsewhere the paths of families that have this name */
function explain (
  near: readonly Known[], word: string | undefined, depth: number, elsewhere: readonly string[]
): Problem {
  if (word === undefined) {
    const paths = near.map(({ endpoint }) => endpoint.path.replace(/:(\w+)/g, '{$1}'))
    return new Problem('not-found', `There is nothing at this path; known paths: ${[...new Set(paths)].join(', ')}`)
  }
  const own = near.filter(({ endpoint }) => endpoint.sharedBy !== 'families')
  const words = [...new Set(own.map(({ parts }) => parts[depth] ?? ':'))].filter(part => !part.includes(':'))
  const others = words.length === 0 ? '' : ` There ${words.length === 1 ? 'is' : 'are'} ${words.join(', ')}`
  const hint = elsewhere.length === 0 ? didYouMean(word, words) : ` Did you mean ${elsewhere.join(' or ')}?`
  return new Problem('not-found', `There is no "${shorten(word)}" here.${hint}${others}`)
}
