import type { FastifyRequest } from 'fastify'

interface Span {
  setStatus (status: { code: number }): unknown
  recordException (error: unknown): void
  end (): void
}

// What @fastify/otel puts on a request; described here, so that its packages are not needed without it.
interface Traced {
  opentelemetry? (): {
    /** None where the host left this route out of its traces. */
    readonly context?: object | null
    readonly tracer: { startActiveSpan<T> (name: string, options: object, context: object, work: (span: Span) => T): T }
  }
}

// SpanStatusCode.ERROR
const failed = 2

/** Runs a step of a request within a span of the host's tracing, where it has one; spans made meanwhile are in it. */
export async function traceStep<T> (request: FastifyRequest, step: string, work: () => Promise<T>): Promise<T> {
  const { tracer, context } = (request as Traced).opentelemetry?.() ?? {}
  if (tracer === undefined || context === undefined || context === null) return await work()
  return await tracer.startActiveSpan(`dealbook ${step}`, {}, context, async span => {
    try {
      return await work()
    } catch (error) {
      span.recordException(error)
      span.setStatus({ code: failed })
      throw error
    } finally {
      span.end()
    }
  })
}
