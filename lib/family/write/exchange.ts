import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Choice } from '../../http/negotiate.js'
import type { Mount } from '../mount/mount.js'

/** A request under way, and the representation to answer it in. */
export interface Exchange {
  readonly mount: Mount
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly choice: Choice
}
