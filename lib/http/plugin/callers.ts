import { errorCodes } from '../../core/errors.js'
import { type Family, hasFieldsOf, listShapes } from '../../core/family/family.js'
import { maybeMade, Problem } from '../../core/problems.js'
import {
  type Caller, checkGrant, type Committed, type Grant, type Granted, type Intent, type Makers
} from '../../core/service/caller.js'
import {
  type GuardedStorage, guardOpening, isStorage, makeStorageAccess, type StorageAccess
} from '../../core/service/storage-access.js'
import { type DeadlineSettings, RequestDeadline } from '../../core/storage/deadline.js'
import type { Storage } from '../../core/storage/storage.js'

/** The part of the host's request that is used. */
interface HostRequest {
  readonly raw: ConstructorParameters<typeof RequestDeadline>[1]
  readonly log: { error (details: object, message: string): void }
  /** Set by @fastify/otel; declared here, so that its packages are optional. */
  opentelemetry? (): {
    /** Missing if the host does not trace this route. */
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
  { other, shows }: {
    other (family: Family | string, request: R): ReturnType<Caller['other']>
    shows (request: R): ReturnType<NonNullable<Caller['shows']>>
  }
): Promise<(request: R, needed?: Family) => Caller> {
  const deadlines = describeDeadlines(timeout)
  const findStorage = await openStorage(family, storage)
  return (request, needed) => ({
    authorize: intent => authorize === undefined ? unlimited : grant(authorize(request, intent)),
    other: family => other(family, request),
    storage: () => findStorage(request, needed),
    shows: () => shows(request),
    signal: new RequestDeadline(deadlines, request.raw),
    makers,
    isGuarded: authorize !== undefined,
    report: (error, message, details) => {
      request.log.error({ err: error instanceof Problem ? error.cause ?? error : error, ...details }, message)
    },
    trace: 'opentelemetry' in request ? (step, work) => traceStep(request, step, work) : undefined,
    committed: onCommitted && (change => { notify(change, request) })
  })

  async function grant (granted: Granted | Promise<Granted>): Promise<Grant> {
    return checkGrant(family, await granted)
  }

  // Not awaited; a failure is only logged.
  async function notify (change: Committed, request: R): Promise<void> {
    try {
      await onCommitted?.(change, request)
    } catch (error) {
      request.log.error({ err: error, family: change.family, action: change.action }, 'onCommitted failed')
    }
  }
}

function describeDeadlines (timeout: number): DeadlineSettings {
  return {
    timeout,
    explain (why) {
      // No client reads this response; the status, which proxies use too, is for the host's log.
      if (why === 'gone') return new Problem('timeout', 'The client has disconnected', { status: 499 })
      const detail = why === 'late'
        ? `It took longer than ${timeout} ms; nothing was changed`
        : `It took longer than ${timeout} ms. ${maybeMade}`
      return new Problem('timeout', detail, { headers: { 'retry-after': '1' } })
    }
  }
}

/** The storage for a request whose rules may need the fields of a version. */
async function openStorage<R> (
  family: Family, storage: CallerOptions<R>['storage']
): Promise<(request: R, needed: Family | undefined) => ReturnType<Caller['storage']>> {
  const own = makeStorageAccess(listShapes(family))
  const accesses = new Map<Family, StorageAccess>()
  if (typeof storage !== 'function') await own(storage)
  return (request, needed) => {
    const access = find(needed)
    return typeof storage === 'function' ? choose(storage, request, access) : guardOpening(access(storage))
  }

  // Rules that need fields which only another version has read those too.
  function find (needed: Family | undefined): StorageAccess {
    if (needed === undefined || hasFieldsOf(family, needed)) return own
    const wider = accesses.get(needed) ?? makeStorageAccess([...listShapes(family), ...listShapes(needed)])
    accesses.set(needed, wider)
    return wider
  }

  async function choose (
    select: (request: R) => Storage | Promise<Storage>, request: R, access: StorageAccess
  ): Promise<GuardedStorage> {
    const chosen = await select(request)
    if (!isStorage(chosen)) throw new errorCodes.FST_DEALBOOK_NO_STORAGE(family.name)
    return await guardOpening(access(chosen))
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
