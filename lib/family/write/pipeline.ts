import type { FastifyReply, FastifyRequest } from 'fastify'
import { refuseCrossSite } from '../../http/cross-site.js'
import { Problem } from '../../problems.js'
import type { Endpoint } from '../../http/routes.js'
import { splitQuery } from '../../query/split.js'
import { wishOf } from '../read/send.js'
import { isEntered, redirect, showAgain } from './entered.js'
import type { Command } from '../model/command.js'
import { execute } from './execute.js'
import type { Exchange } from './exchange.js'
import type { Result } from './execute.js'
import type { Mount } from '../mount/mount.js'
import { splitUrl } from '../mount/urls.js'

/** A form: how its request becomes a command, and how what became of it is answered. */
export interface WriteForm {
  read (request: FastifyRequest): Command | Promise<Command>
  answer (exchange: Exchange, result: Result): Promise<FastifyReply>
}

/** The pipeline of every write. */
export function writeHandler (mount: Mount, form: WriteForm): Endpoint['handler'] {
  return async (request, reply) => {
    refuseCrossSite(request, mount.trustedOrigins)
    refuseParameters(request)
    const choice = mount.chooser.choose('one', wishOf(request))
    const exchange = { mount, request, reply, choice }
    try {
      const command = await form.read(request)
      const result = await execute(mount, request, command)
      return isEntered(exchange) ? redirect(exchange, result) : await form.answer(exchange, result)
    } catch (error) {
      if (!isEntered(exchange) || !(error instanceof Problem) || error.statusCode >= 500) throw error
      // Who may not see the page is still told what was wrong.
      return await showAgain(exchange, error).catch(() => { throw error })
    }
  }
}

/** A write may say the format of its answer, and nothing else, in its query. */
function refuseParameters (request: FastifyRequest): void {
  const { search } = splitUrl(request)
  if (search === '') return
  const detail = 'The only parameter here is format, once'
  const names = splitQuery(search).map(({ name, raw }) => name ?? raw)
  const errors = names.filter((name, index) => name !== 'format' || names.indexOf(name) < index).map(name => ({ parameter: name.slice(0, 50), detail }))
  if (errors.length > 0) throw new Problem('invalid-query', detail, { errors })
}
