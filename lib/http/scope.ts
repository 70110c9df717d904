import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { FormBody, readJson } from './body.js'

type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply

/**
 * Makes a plugin's scope independent of the host's settings: its own body parsers, its own error handler, and neither
 * validation nor serialization by the host's compilers (route schemas are documentation here).
 */
export function isolateScope (app: FastifyInstance, handleError: ErrorHandler): void {
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => payload => JSON.stringify(payload))
  app.removeAllContentTypeParsers()
  const json = ['application/json', 'application/merge-patch+json']
  app.addContentTypeParser(json, { parseAs: 'buffer' }, async (_request: FastifyRequest, bytes: Buffer) => readJson(bytes))
  const form = 'application/x-www-form-urlencoded'
  app.addContentTypeParser(form, { parseAs: 'buffer' }, async (_request: FastifyRequest, bytes: Buffer) => new FormBody(bytes))
  app.setErrorHandler(handleError)
}
