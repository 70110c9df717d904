import type { FastifyRequest } from 'fastify'
import { Problem } from '../../http/problems.js'
import type { MemberFlaw } from '../../values/validate.js'
import type { Members, Params } from '../model/params.js'

/** The body of a request; none at all is the empty object. */
export function bodyOf (request: FastifyRequest): Members {
  // Not by `??`: the body `null` is no object.
  const body = request.body === undefined ? {} : request.body
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalidBody([{ pointer: '', detail: 'must be an object' }])
  return body as Members
}

/** Members of a body that were understood, or the problem that names all that is wrong with them. */
export function readSent (params: Params, value: unknown, pointer = ''): Members {
  const read = params.read(value)
  if ('params' in read) return read.params
  throw invalidBody(read.flaws.map(flaw => ({ ...flaw, pointer: pointer + flaw.pointer })))
}

export function invalidBody (errors: readonly MemberFlaw[]): Problem {
  const [first, ...others] = errors
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  return new Problem('invalid-body', `${first?.pointer === '' ? 'The body' : first?.pointer} ${first?.detail}${more}`, { errors })
}
