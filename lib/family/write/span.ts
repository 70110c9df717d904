import type { FastifyRequest } from 'fastify'

interface Span {
  recordException (error: unknown): void
  end (): void
}

// What @fastify/otel puts on a request; described here, so that nobody who does without it installs its packages.
interface Traced {
  opentelemetry? (): { readonly context: unknown, readonly tracer: { startSpan (name: string, options: object, context: unknown): Span } }
}

/** Does a part of a request within a span of the host's tracing, where it has one. */
export async function spanned<T> (request: FastifyRequest, name: string, work: () => T | Promise<T>): Promise<T> {
  const tracing = (request as Traced).opentelemetry?.()
  if (tracing === undefined) return await work()
  const span = tracing.tracer.startSpan(`dealbook ${name}`, {}, tracing.context)
  try {
    return await work()
  } catch (error) {
    span.recordException(error)
    throw error
  } finally {
    span.end()
  }
}
