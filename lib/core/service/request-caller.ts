import { errorCodes } from '../errors.js'
import { type Family, listShapes } from '../family/family.js'
import { RequestDeadline } from '../storage/deadline.js'
import type { Storage } from '../storage/storage.js'
import {
  type Caller, checkGrant, type Committed, type Grant, type Granted, type Intent, makeDeadlines, type Makers
} from './caller.js'
import { type GuardedStorage, guardOpening, isStorage, makeStorageAccess } from './storage-access.js'
import { readWaitingLimits } from './write-queue.js'

/** What is used here of a request of the host. */
interface HostRequest {
  readonly raw: ConstructorParameters<typeof RequestDeadline>[1]
  readonly log: { error (details: object, message: string): void }
  /** Set by @fastify/otel; declared here, so that its packages are optional. */
  opentelemetry? (): {
    /** Missing where the host does not trace this route. */
    readonly context?: object | null
    readonly tracer: { startActiveSpan<T> (name: string, options: object, context: object, work: (span: Span) => T): T }
  }
}

interface CallerOptions<R> {
  readonly storage: Storage | ((request: R) => Storage | Promise<Storage>)
  readonly authorize?: (request: R, intent: Intent) => Granted | Promise<Granted>
  onCommitted? (change: Committed, request: R): void | Promise<void>
}

const unlimited: Grant = {}

/** The callers of a mount, one for each request. Opens the storage, unless the host chooses one by request. */
export async function makeCallers<R extends HostRequest> (
  family: Family,
  { storage, authorize, onCommitted }: CallerOptions<R>,
  makers: Makers,
  timeout: number,
  other: (family: Family, request: R) => ReturnType<Caller['other']>
): Promise<(request: R) => Caller> {
  const waiting = readWaitingLimits({})
  const access = makeStorageAccess(listShapes(family))
  const deadlines = makeDeadlines(timeout)
  const opened = typeof storage === 'function' ? undefined : await access(storage)

  return request => ({
    authorize: intent => authorize === undefined ? unlimited : grant(authorize(request, intent)),
    other: family => other(family, request),
    storage: () => opened ?? choose(request),
    signal: new RequestDeadline(deadlines, request.raw),
    waiting,
    makers,
    trace: 'opentelemetry' in request ? (step, work) => traceStep(request, step, work) : undefined,
    committed: onCommitted && (change => { notifyHost(onCommitted, change, request) })
  })

  async function grant (granted: Granted | Promise<Granted>): Promise<Grant> {
    return checkGrant(family, await granted)
  }

  async function choose (request: R): Promise<GuardedStorage> {
    const chosen = await (storage as (request: R) => Storage | Promise<Storage>)(request)
    if (!isStorage(chosen)) throw new errorCodes.FST_DEALBOOK_NO_STORAGE(family.name)
    return await guardOpening(() => access(chosen))
  }
}

// Not awaited; a failure is only logged.
async function notifyHost<R extends HostRequest> (
  onCommitted: NonNullable<CallerOptions<R>['onCommitted']>,
  change: Committed,
  request: R
): Promise<void> {
  try {
    await onCommitted(change, request)
  } catch (error) {
    request.log.error({ err: error, family: change.family, action: change.action }, 'onCommitted failed')
  }
}

interface Span {
  setStatus (status: { code: number }): unknown
  recordException (error: unknown): void
  end (): void
}

// SpanStatusCode.ERROR
const failed = 2

/** Uses a span of the host's tracing, if it has any; spans made meanwhile are its children. */
async function traceStep<T> (request: HostRequest, step: string, work: () => Promise<T>): Promise<T> {
  const { tracer, context } = request.opentelemetry?.() ?? {}
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
