import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readJson } from './body.js'
import { FormBody } from './form.js'

/**
 * Makes a plugin's scope independent of the host's settings: its own body parsers, its own error handler, and neither
 * validation nor serialization by the host's compilers (route schemas are documentation here).
 */
export function isolate (app: FastifyInstance, onError: (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply): void {
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => payload => JSON.stringify(payload))
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(['application/json', 'application/merge-patch+json'], { parseAs: 'buffer' }, async (_request: FastifyRequest, bytes: Buffer) => readJson(bytes))
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'buffer' }, async (_request: FastifyRequest, bytes: Buffer) => new FormBody(bytes))
  app.setErrorHandler(onError)
}
