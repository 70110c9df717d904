import type { TSchema } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { declaresNull } from '../../core/family/fields.js'
import type { Params } from '../../core/family/params.js'
import { readParams } from '../../core/family/params.js'
import { invalidBody, Problem } from '../../core/problems.js'
import type { ReadResult } from '../../core/query/values.js'
import { readValue } from '../../core/query/values.js'
import type { Field, Scalar } from '../../core/storage/storage.js'
import type { Members } from '../../core/values/json.js'
import type { MemberFlaw } from '../../core/values/json.js'
import { escapePointer } from '../../core/values/json.js'
import { FormBody } from '../body.js'
import { readIdempotencyKey } from '../request.js'

/** The JSON body of a request; none at all is the empty object. */
export function getJsonBody ({ body = {} }: FastifyRequest): Members {
  if (body instanceof FormBody) {
    throw new Problem('unsupported-media-type', 'A form cannot be sent here; send application/json')
  }
  if (isObject(body)) return body
  throw invalidBody([{ pointer: '', detail: 'must be an object' }])
}

/** Whether a body is an object with this member. */
export function hasMember (body: unknown, name: string): boolean {
  return isObject(body) && Object.hasOwn(body, name)
}

function isObject (value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The parameters of a command, from a JSON body. */
export function readJsonParams (params: Params, request: FastifyRequest): Members {
  return readParams(params, getJsonBody(request))
}

/** The same where a form of a page may be sent as well. */
export function readSentParams (params: Params, request: FastifyRequest): Members {
  if (!(request.body instanceof FormBody)) return readJsonParams(params, request)
  const { members, flaws } = readForm(params, request.body)
  if (flaws.length === 0) return readParams(params, members)
  const read = params.read(members)
  // What could not even be read is said once, as that.
  const said = new Set(flaws.map(({ pointer }) => pointer))
  throw invalidBody('flaws' in read ? [...flaws, ...read.flaws.filter(({ pointer }) => !said.has(pointer))] : flaws)
}

// The text of a form, read as the types of the schema.
function readForm (params: Params, { entries }: FormBody): { members: Members, flaws: MemberFlaw[] } {
  const members: [name: string, value: unknown][] = []
  const flaws: MemberFlaw[] = []
  for (const [name, text] of entries) {
    const field = params.fields.find(field => field.name === name)
    const read = field === undefined ? { value: text } : text === '' ? readEmpty(params, field) : readValue(field, text)
    if (read === undefined) continue
    if ('value' in read) members.push([name, read.value])
    else flaws.push({ pointer: `/${escapePointer(name)}`, detail: read.expected })
  }
  // Whatever a member is called, it is one: __proto__ would be none where it is assigned.
  return { members: Object.fromEntries(members), flaws }
}

// A field that is left empty is null, or else not sent. One that is emptied is null, or else an empty text.
function readEmpty ({ schema, isPartial }: Params, field: Field): ReadResult<Scalar | null> | undefined {
  const isNull = isPartial ? declaresNull(schema.properties[field.name] as TSchema) : field.nullable === true
  return isNull ? { value: null } : isPartial ? readValue(field, '') : undefined
}

/** The client's key for a POST: the header, or what a form of ours has for it. */
export function readKey (request: FastifyRequest): string | undefined {
  return request.body instanceof FormBody ? request.body.key : readIdempotencyKey(request.headers)
}
