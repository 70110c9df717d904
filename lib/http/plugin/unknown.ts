import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../core/problems.js'
import { decodeText } from '../../core/query/query-string.js'
import type { Intent } from '../../core/service/caller.js'
import { intendToRead } from '../../core/service/caller.js'
import { didYouMean, shorten } from '../../core/values/words.js'
import type { Mount } from '../mount.js'
import { listAccepted } from '../negotiate.js'
import { toProblem } from '../reply.js'
import { splitUrl } from '../request.js'
import type { Endpoint } from '../routes.js'
import { retire } from '../routes.js'

/**
 * Answers what no route takes, of ours or of the host's: below the path of the family, at other versions of it, and on
 * the paths without a version. For everything else the host's own handler stays.
 */
export function mountUnknown (app: FastifyInstance, mount: Mount): void {
  const { family: { name }, home, unversioned } = mount
  const paths = unversioned === false ? [] : ['/query', '/command', '/rest/commands', `/rest/:parameter/${name}`]
  for (const path of [home, ...paths]) setNotFoundHandler(app, mount, path)
}

// By server: for what is not found, only one handler can be set at a path.
const taken = new WeakMap<object, Set<string>>()

// An end that is empty, or a suffix. With it the router keeps ours apart from a handler that the host has for the same
// path, which comes first then. Its name is that of a parameter of our routes, which no prefix can have.
const end = ':extension(|\\.[^/]+)'

function setNotFoundHandler (app: FastifyInstance, mount: Mount, path: string): void {
  const paths = taken.get(app.server) ?? new Set()
  taken.set(app.server, paths)
  if (paths.has(mount.prefix + path)) return
  paths.add(mount.prefix + path)
  app.register(async scope => {
    // The body is not read there.
    scope.removeAllContentTypeParsers()
    scope.setNotFoundHandler((request, reply) => answerUnknown(mount, request, reply))
  }, { prefix: path + end })
}

/** An endpoint, its mount, and the segments of its path. */
interface Known {
  readonly mount: Mount
  readonly endpoint: Endpoint
  readonly parts: readonly string[]
}

/** Answers what no route takes. */
export async function answerUnknown (
  mount: Mount,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  const segments = splitPath(splitUrl(request).path)
    .slice(splitPath(mount.prefix).length)
    .map(segment => decodeText(segment) ?? segment)
  const known = mount.neighbours.endpoints.map(each => ({ ...each, parts: splitPath(each.endpoint.path) }))
  const here = known.filter(({ parts }) => parts.length === segments.length && fits(parts, segments))
  if (here.length > 0) return answerMethod(here.map(({ endpoint }) => endpoint), request, reply)
  if (fits(splitPath(mount.home), segments)) retire(reply, mount.retirement)
  let depth = 0
  let near: readonly Known[] = known
  for (; depth < segments.length; depth++) {
    const further = near.filter(({ parts }) => parts.length > depth && fits(parts.slice(0, depth + 1), segments))
    if (further.length === 0) break
    near = further
  }
  const open = await filterAuthorized(near.map(({ mount }) => mount), request, segments)
  throw explain(near.filter(({ mount }) => open.includes(mount)), segments, depth)
}

function splitPath (path: string): string[] {
  return path.split('/').filter(segment => segment !== '')
}

/** Whether a path, as it is declared, is the beginning of another one, as it was sent. */
function fits (parts: readonly string[], segments: readonly string[]): boolean {
  return parts.every((part, index) => {
    const segment = segments[index] ?? ''
    const [start = '', parameter] = part.split(':')
    return parameter === undefined ? part === segment : segment.startsWith(start) && segment !== start
  })
}

/** OPTIONS, or the problem of a method that a path does not have. */
function answerMethod (here: readonly Endpoint[], { method }: FastifyRequest, reply: FastifyReply): FastifyReply {
  here[0]?.before?.(reply)
  const methods = here.flatMap(({ method }) => method === 'GET' ? [method, 'HEAD'] : [method])
  const allow = [...new Set([...methods, 'OPTIONS'])].sort().join(', ')
  if (method === 'OPTIONS') return reply.code(204).headers({ allow, ...listAccepted(here) }).send()
  throw new Problem('method-not-allowed', `${method} is not allowed here; allowed: ${allow}`, { headers: { allow } })
}

/** Those that the caller may know of; the first refusal is thrown where there is none. */
async function filterAuthorized (
  mounts: readonly Mount[],
  request: FastifyRequest,
  segments: readonly string[]
): Promise<Mount[]> {
  const open: Mount[] = []
  let refusal: unknown
  for (const mount of new Set(mounts)) {
    try {
      await mount.caller(request).authorize(intendToLook(mount, segments))
      open.push(mount)
    } catch (error) {
      if (toProblem(error).statusCode >= 500) throw error
      refusal ??= error
    }
  }
  if (open.length === 0 && refusal !== undefined) throw refusal
  return open
}

function intendToLook ({ family, home }: Mount, segments: readonly string[]): Intent {
  const parts = splitPath(home)
  const id = fits(parts, segments) ? family.readId(segments[parts.length] ?? '') : undefined
  if (id !== undefined) return intendToRead(family, id)
  return { family: family.name, action: 'list', id: undefined, params: {} }
}

/** @param depth how many of the segments are known */
function explain (near: readonly Known[], segments: readonly string[], depth: number): Problem {
  const word = segments[depth]
  if (word === undefined) {
    const paths = near.map(({ endpoint }) => endpoint.path.replace(/:(\w+)/g, '{$1}'))
    return new Problem('not-found', `There is nothing at this path, but at ${[...new Set(paths)].join(', ')}`)
  }
  const own = near.filter(({ endpoint }) => endpoint.sharedBy !== 'families')
  const words = [...new Set(own.map(({ parts }) => parts[depth] ?? ':'))].filter(part => !part.includes(':'))
  const others = words.length === 0 ? '' : ` There ${words.length === 1 ? 'is' : 'are'} ${words.join(', ')}`
  return new Problem('not-found', `There is no "${shorten(word)}" here.${didYouMean(word, words)}${others}`)
}
