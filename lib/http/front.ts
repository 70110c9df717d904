import type { FastifyInstance } from 'fastify'
import { isolateScope, parseJson } from './body.js'
import { limitTime, setCaching } from './reply.js'
import { waitForTurn } from './routes.js'

/** Limits of `prepareFront`. */
export interface FrontOptions {
  /** Media types of bodies that are JSON. Default `application/json`. */
  readonly types?: readonly string[]
  /** Maximum members and list entries of a body. Default 1000. */
  readonly maxMembers?: number
  /** How deeply a body may be nested. Default 20. */
  readonly maxDepth?: number
  /** Milliseconds for a client to read a long response. Default 30 seconds. */
  readonly exportTimeout?: number
}

/**
 * Prepares a scope for your own front end as those of families are: bodies are strict JSON with limits, others are
 * 415, and nothing of the host's validation applies. Responses are private: only those with a tag may be kept. A client
 * that does not read a long one is cut off.
 *
 * @example
 * app.register(async app => {
 *   prepareFront(app)
 *   app.post('/graphql', handler)
 * })
 */
export function prepareFront (app: FastifyInstance, options: FrontOptions = {}): void {
  const { types = ['application/json'], maxMembers = 1000, maxDepth = 20, exportTimeout = 30_000 } = options
  isolateScope(app)
  parseJson(app, types, { maxMembers, maxDepth })
  app.addHook('preHandler', async request => { await waitForTurn(request) })
  app.addHook('onSend', async (_request, reply, payload) => {
    if (typeof payload === 'string') limitTime(reply, payload, exportTimeout)
    if (!reply.hasHeader('cache-control')) setCaching(reply)
    reply.header('x-content-type-options', 'nosniff')
  })
}
