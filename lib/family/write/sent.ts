import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { FormBody } from '../../http/form.js'
import { readIdempotencyKey } from '../../http/idempotency.js'
import { Problem } from '../../problems.js'
import { escapePointer } from '../../values/json.js'
import { readValue } from '../../query/values.js'
import type { MemberFlaw } from '../../values/validate.js'
import type { Members, Params } from '../model/params.js'

/** The JSON body of a request; none at all is the empty object. */
export function bodyOf (request: FastifyRequest): Members {
  // Not by `??`: the body `null` is no object.
  const body = request.body === undefined ? {} : request.body
  if (body instanceof FormBody) throw new Problem('unsupported-media-type', 'A form cannot be sent here; send application/json')
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalidBody([{ pointer: '', detail: 'must be an object' }])
  return body as Members
}

/** The body where a form may be sent as well. */
export function sentOf (request: FastifyRequest): Members | FormBody {
  return request.body instanceof FormBody ? request.body : bodyOf(request)
}

/** Members of a body that were understood, or the problem that names all that is wrong with them. */
export function readSent (params: Params, sent: Members | FormBody, pointer = ''): Members {
  const { members, flaws } = sent instanceof FormBody ? readForm(params, sent) : { members: sent, flaws: [] }
  const read = params.read(members)
  if ('params' in read && flaws.length === 0) return read.params
  // What a form could not even read is said once, as that.
  const others = 'params' in read ? [] : read.flaws.filter(({ pointer }) => !flaws.some(flaw => flaw.pointer === pointer))
  throw invalidBody([...flaws, ...others].map(flaw => ({ ...flaw, pointer: pointer + flaw.pointer })))
}

// The text of a form, read as the types of the schema; a field that is left empty is not sent.
function readForm ({ fields }: Params, { entries }: FormBody): { members: Members, flaws: MemberFlaw[] } {
  const members: Record<string, unknown> = {}
  const flaws: MemberFlaw[] = []
  for (const [name, text] of entries) {
    const field = fields.find(field => field.name === name)
    if (field !== undefined && text === '') continue
    const read = field === undefined ? { value: text } : readValue(field, text)
    if ('value' in read) members[name] = read.value
    else flaws.push({ pointer: `/${escapePointer(name)}`, detail: read.expected })
  }
  return { members, flaws }
}

/** The client's key for a POST: the header, or what a form of ours has for it. */
export function keyOf (request: FastifyRequest): string | undefined {
  return request.body instanceof FormBody ? request.body.key : readIdempotencyKey(request.headers)
}

/** The conditions of a write: the headers', and what a form of ours has in their place. */
export function conditionsOf ({ headers, body }: FastifyRequest): IncomingHttpHeaders {
  return body instanceof FormBody && body.revision !== undefined ? { ...headers, 'if-match': body.revision } : headers
}

export function invalidBody (errors: readonly MemberFlaw[]): Problem {
  const [first, ...others] = errors
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  return new Problem('invalid-body', `${first?.pointer === '' ? 'The body' : first?.pointer} ${first?.detail}${more}`, { errors })
}
