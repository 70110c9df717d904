import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Endpoint } from './routes.js'
import { refuseMethod } from './routes.js'

/** Answers what no route takes. @param segments of the path after the prefix */
export type AnswerUnknown = (
  request: FastifyRequest,
  reply: FastifyReply,
  segments: readonly string[]
) => Promise<never>

// By server: for what no route takes, only one can answer at a path.
const taken = new WeakMap<object, Set<string>>()

/**
 * Answers what no route takes, of ours or of the host's, at a path and below it. As it is no route but a handler of
 * what is not found, it takes no path from anybody, and for all others the host's own handler stays.
 */
export function mountUnknown (
  app: FastifyInstance,
  path: string,
  answer: AnswerUnknown
): void {
  const paths = taken.get(app.server) ?? new Set()
  taken.set(app.server, paths)
  const whole = app.prefix.replace(/\/+$/, '') + path
  if (paths.has(whole)) return
  paths.add(whole)
  app.register(async scope => {
    // What is sent there is not looked at.
    scope.removeAllContentTypeParsers()
    scope.setNotFoundHandler(async (request, reply) => { await answer(request, reply, readSegments(path, request)) })
  }, { prefix: path + end })
}

// An end that is empty, or a suffix. With it the router keeps ours apart from a handler that the host has for the same
// path, which comes first then. Its name is that of a parameter of our routes, which no prefix can have.
const end = ':extension(|\\.[^/]+)'

function readSegments (path: string, request: FastifyRequest): string[] {
  const { '*': rest, extension = '', ...params } = request.params as Record<string, string | undefined>
  const whole = splitPath(path).map(part => part.startsWith(':') ? params[part.slice(1)] ?? '' : part).join('/')
  return splitPath(`/${whole}${extension}${rest === undefined ? '' : `/${rest}`}`)
}

/** The segments of a path, whether or not it ends with a slash. */
export function splitPath (path: string): string[] {
  return path.replace(/\/$/, '').split('/').slice(1)
}

/** Refuses a method that Fastify does not know, and so gives to no route, where the path is one of these. */
export function refuseUnknownMethod (
  endpoints: readonly Endpoint[],
  segments: readonly string[],
  request: FastifyRequest
): void {
  const here = endpoints.filter(({ path }) => fits(splitPath(path), segments))
  if (here.length > 0 && !request.server.supportedMethods.includes(request.method)) refuseMethod(here, request)
}

function fits (pattern: readonly string[], segments: readonly string[]): boolean {
  return pattern.length === segments.length && pattern.every((part, index) => {
    const segment = segments[index] as string
    const [start = '', parameter] = part.split(':')
    return parameter === undefined ? part === segment : segment.startsWith(start) && segment !== start
  })
}
