import type { FastifyReply, FastifyRequest } from 'fastify'
import { refuseCrossSite } from '../../http/cross-site.js'
import type { Choice } from '../../http/negotiate.js'
import { Problem } from '../../http/problems.js'
import type { Endpoint } from '../../http/routes.js'
import { splitQuery } from '../../query/split.js'
import { wishOf } from '../read/send.js'
import type { Command } from '../model/command.js'
import { execute } from './execute.js'
import type { Result } from './execute.js'
import type { Mount } from '../mount/mount.js'
import { splitUrl } from '../mount/urls.js'

/** A request under way, and the representation to answer it in. */
export interface Exchange {
  readonly mount: Mount
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly choice: Choice
}

/** A form: how its request becomes a command, and how what became of it is answered. */
export interface WriteForm {
  read (request: FastifyRequest): Command | Promise<Command>
  answer (exchange: Exchange, result: Result): FastifyReply
}

/** The pipeline of every write. */
export function writeHandler (mount: Mount, form: WriteForm): Endpoint['handler'] {
  return async (request, reply) => {
    refuseCrossSite(request, mount.trustedOrigins)
    const choice = mount.chooser.choose('one', { ...wishOf(request), format: formatOf(request) })
    const command = await form.read(request)
    const result = await execute(mount, request, command)
    return form.answer({ mount, request, reply, choice }, result)
  }
}

/** The format that a write's query names; it may have no other parameter. */
function formatOf (request: FastifyRequest): string | undefined {
  const { search } = splitUrl(request)
  if (search === '') return undefined
  const parameters = splitQuery(search)
  const errors = parameters
    .filter(({ name }) => name !== 'format')
    .map(({ raw }) => ({ parameter: raw.slice(0, 50), detail: 'The only parameter here is format' }))
  if (errors.length > 0) throw new Problem('invalid-query', 'The only parameter here is format', { errors })
  const [first, ...others] = parameters
  if (others.length > 0) throw new Problem('invalid-query', 'format may be given only once', { errors: [{ parameter: 'format', detail: 'format may be given only once' }] })
  return first?.name === undefined ? undefined : first.value
}
