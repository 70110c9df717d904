import type { FastifyRequest } from 'fastify'
import { errorCodes } from '../../core/errors.js'
import { type Family, listShapes } from '../../core/family/family.js'
import { compileGrammar } from '../../core/query/grammar.js'
import {
  checkGrant, type Committed, type Grant, type Granted, makeDeadlines, type Makers, readMakers
} from '../../core/service/caller.js'
import { logList } from '../../core/service/record.js'
import { type GuardedStorage, guardOpening, isStorage, makeStorageAccess } from '../../core/service/storage-access.js'
import { readWaitingLimits } from '../../core/service/write-queue.js'
import { RequestDeadline } from '../../core/storage/deadline.js'
import type { Storage } from '../../core/storage/storage.js'
import { forms } from '../forms/forms.js'
import type { Mount, Neighbours } from '../mount.js'
import { makeChooser } from '../negotiate.js'
import { makeUrls } from '../request.js'
import { checkOptions, type FamilyOptions, representations as allRepresentations } from './options.js'

// Limits of one query: values of a parameter, patterns, their length, and their size.
const queryLimits = { maxValues: 100, maxPatterns: 5, maxPatternLength: 200, maxPatternSize: 200 }

/** Fails at boot rather than at a request. */
export async function makeMount (
  family: Family,
  prefix: string,
  neighbours: Neighbours,
  options: FamilyOptions
): Promise<Mount> {
  checkOptions(family, prefix, options)
  const { version, representations = allRepresentations } = options
  const home = version === undefined ? `/${family.name}` : `/rest/${version}/${family.name}`
  const { timeout = 10_000, maxPageSize = 1000, pageSize = Math.min(50, maxPageSize) } = options
  const limits = { ...queryLimits, pageSize, maxPageSize, maxSkipped: Math.max(50_000, 50 * maxPageSize) }
  const makers = readMakers(family, options)
  const caller = await makeCallerFactory(family, options, makers, timeout, name => neighbours.find(name, mount))
  const mount: Mount = {
    family,
    prefix,
    neighbours,
    storage: options.storage,
    version,
    home,
    urls: makeUrls(prefix, home, options.publicUrl),
    grammar: compileGrammar({ ...family, references: [...family.references.keys()] }, limits),
    logGrammar: compileGrammar(logList, limits),
    representations,
    chooser: makeChooser(representations),
    emptyList: options.emptyList ?? 'page',
    exportTimeout: 3 * timeout,
    preconditions: options.preconditions ?? 'optional',
    forms: new Set(options.forms ?? forms.map(({ name }) => name)),
    schemas: new Map(),
    trustedOrigins: options.trustedOrigins ?? [],
    unversioned: options.unversioned,
    retirement: {
      deprecation: options.deprecation === undefined ? undefined : new Date(options.deprecation),
      sunset: options.sunset === undefined ? undefined : new Date(options.sunset),
      successor: options.successor,
      clock: makers.clock
    },
    isGuarded: options.authorize !== undefined,
    makers,
    caller
  }
  return mount
}

/** Throws where an operation needs a family that is not mounted beside this one, or is in a different storage. */
export function checkNeighbours (mount: Mount): void {
  const { family, neighbours, storage } = mount
  for (const { operation, others } of family.operations.values()) {
    for (const { family: needed } of others) {
      if (needed === undefined) continue
      const found = neighbours.find(needed.name, mount)
      if (found === undefined) throw new errorCodes.FST_DEALBOOK_NO_NEIGHBOUR(family.name, needed.name)
      if (found.storage === storage) continue
      throw new errorCodes.FST_DEALBOOK_OTHER_STORAGE(family.name, operation.name, needed.name)
    }
  }
  for (const [field, { name }] of family.references) {
    const found = neighbours.find(name, mount)
    if (found === undefined || found.storage === storage) continue
    throw new errorCodes.FST_DEALBOOK_REFERENCE_STORAGE(family.name, field, name)
  }
}

const unlimited: Grant = {}

async function makeCallerFactory (
  family: Family,
  { storage, authorize, onCommitted }: FamilyOptions,
  makers: Makers,
  timeout: number,
  findNeighbour: (family: string) => Mount | undefined
): Promise<Mount['caller']> {
  const waiting = readWaitingLimits({})
  const access = makeStorageAccess(listShapes(family))
  const deadlines = makeDeadlines(timeout)
  const opened = typeof storage === 'function' ? undefined : await access(storage)

  return request => ({
    authorize: intent => authorize === undefined ? unlimited : grant(authorize(request, intent)),
    other (declared) {
      const found = findNeighbour(declared.name)
      return found && { family: found.family, caller: found.caller(request) }
    },
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

  async function choose (request: FastifyRequest): Promise<GuardedStorage> {
    const chosen = await (storage as (request: FastifyRequest) => Storage | Promise<Storage>)(request)
    if (!isStorage(chosen)) throw new errorCodes.FST_DEALBOOK_NO_STORAGE(family.name)
    return await guardOpening(() => access(chosen))
  }
}

// Not awaited; a failure is only logged.
async function notifyHost (
  onCommitted: NonNullable<FamilyOptions['onCommitted']>,
  change: Committed,
  request: FastifyRequest
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

// Set by @fastify/otel; declared here, so that its packages are optional.
interface Traced {
  opentelemetry? (): {
    /** Missing where the host does not trace this route. */
    readonly context?: object | null
    readonly tracer: { startActiveSpan<T> (name: string, options: object, context: object, work: (span: Span) => T): T }
  }
}

// SpanStatusCode.ERROR
const failed = 2

/** Uses a span of the host's tracing, if it has any; spans made meanwhile are its children. */
async function traceStep<T> (request: FastifyRequest, step: string, work: () => Promise<T>): Promise<T> {
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
