import type { FastifyRequest } from 'fastify'
import { Problem } from '../http/problems.js'
import type { Id } from '../storage/storage.js'
import type { MemberFlaw } from '../values/validate.js'
import { isCommandId } from './command.js'
import type { Mount } from './mount.js'
import type { Members, Params } from './params.js'

/** The body of a request; none at all is the empty object. */
export function bodyOf (request: FastifyRequest): Members {
  const body = request.body ?? {}
  if (typeof body !== 'object' || Array.isArray(body)) throw invalidBody([{ pointer: '', detail: 'must be an object' }])
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

/** The id of the item in the path; what cannot be one is not there. */
export function targetOfPath ({ family }: Mount, request: FastifyRequest): Id {
  const text = (request.params as { id: string }).id
  const id = family.readId(text)
  if (id === undefined) throw new Problem('not-found', `There is no ${family.singular} "${text}"`)
  return id
}

/** The command id in the path, as the client chose it. */
export function commandOfPath (request: FastifyRequest): string {
  const { command } = request.params as { command: string }
  if (!isCommandId(command)) {
    const detail = 'A command id has 1 to 100 of the characters A-Z a-z 0-9 . _ ~ -'
    throw new Problem('bad-request', detail, { errors: [{ parameter: 'command_id', detail }] })
  }
  return command
}
