import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { BodyLimits } from '../core/values/scan-json.js'
import { FormBody, readJson } from './body.js'

type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply

/**
 * Makes a plugin's scope independent of the host's settings: its own body parsers, its own error handler, and neither
 * validation nor serialization by the host's compilers (route schemas are documentation here).
 */
export function isolateScope (app: FastifyInstance, limits: BodyLimits, handleError: ErrorHandler): void {
  // Without a validator, nothing is validated, and nothing called for it.
  app.setValidatorCompiler(() => undefined as never)
  app.setSerializerCompiler(() => payload => JSON.stringify(payload))
  app.removeAllContentTypeParsers()
  addParser(app, ['application/json', 'application/merge-patch+json'], bytes => readJson(bytes, limits))
  addParser(app, ['application/x-www-form-urlencoded'], bytes => new FormBody(bytes, limits))
  app.setErrorHandler(handleError)
}

function addParser (app: FastifyInstance, types: string[], parse: (bytes: Buffer) => unknown): void {
  // With a callback: it costs less than a promise.
  app.addContentTypeParser<Buffer>(types, { parseAs: 'buffer' }, (_request, bytes, done) => {
    let body: unknown
    try {
      body = parse(bytes)
    } catch (error) {
      done(error as Error)
      return
    }
    done(null, body)
  })
}
