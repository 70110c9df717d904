import type { FastifyRequest } from 'fastify'
import { errorCodes } from '../../core/errors.js'
import type { Family } from '../../core/family/family.js'
import { listShapes } from '../../core/family/family.js'
import { compileGrammar } from '../../core/query/grammar.js'
import type { Caller, Committed, Grant, Intent, Makers } from '../../core/service/caller.js'
import { checkGrant, makeDeadlines, readMakers } from '../../core/service/caller.js'
import { logList } from '../../core/service/record.js'
import type { GuardedStorage } from '../../core/service/storage-access.js'
import { guardOpening, isStorage, makeStorageAccess } from '../../core/service/storage-access.js'
import { readWaitingLimits } from '../../core/service/write-queue.js'
import { RequestDeadline } from '../../core/storage/deadline.js'
import type { Storage } from '../../core/storage/storage.js'
import { forms } from '../forms/forms.js'
import type { Mount, Neighbours } from '../mount.js'
import { makeChooser } from '../negotiate.js'
import { makeUrls } from '../request.js'
import type { FamilyOptions } from './options.js'
import { checkOptions, representations as allRepresentations } from './options.js'

// What a client may ask for in one query: values of a parameter, patterns, their length, and their size.
const queryLimits = { maxValues: 100, maxPatterns: 5, maxPatternLength: 200, maxPatternSize: 200 }

/** Checks the options and prepares the storage, so that what is wrong stops the boot and not a request. */
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
  const makeCaller = await makeCallerFactory(family, options, makers, timeout)

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
      deprecation: toDate(options.deprecation),
      sunset: toDate(options.sunset),
      successor: options.successor,
      clock: makers.clock
    },
    isGuarded: options.authorize !== undefined,
    makers,
    caller: request => makeCaller(request, declared => {
      const found = neighbours.find(declared.name, mount)
      return found && { family: found.family, caller: found.caller(request) }
    })
  }
  return mount
}

/** Refuses operations that need items of a family which cannot be changed together with this one. */
export function checkOthers (mount: Mount): void {
  for (const { operation, others } of mount.family.operations.values()) {
    for (const { family } of others) {
      if (family === undefined) continue
      const found = mount.neighbours.find(family.name, mount)
      if (found === undefined) throw new errorCodes.FST_DEALBOOK_NO_NEIGHBOUR(mount.family.name, family.name)
      if (found.storage === mount.storage) continue
      throw new errorCodes.FST_DEALBOOK_OTHER_STORAGE(mount.family.name, operation.name, family.name)
    }
  }
}

/** Refuses references to a family at the same prefix with a different storage, where they would find nothing. */
export function checkReferences (mount: Mount): void {
  const { family, neighbours, storage } = mount
  for (const [field, { name }] of family.references) {
    const other = neighbours.find(name, mount)
    if (other === undefined || other.storage === storage) continue
    throw new errorCodes.FST_DEALBOOK_REFERENCE_STORAGE(family.name, field, name)
  }
}

const unlimited: Grant = {}

/** A caller for each request: what `authorize` grants it, and the storage that is its own. */
async function makeCallerFactory (
  family: Family,
  options: FamilyOptions,
  makers: Makers,
  timeout: number
): Promise<(request: FastifyRequest, other: Caller['other']) => Caller> {
  const { storage, authorize, onCommitted } = options
  const waiting = readWaitingLimits({})
  const access = makeStorageAccess(listShapes(family))
  const deadlines = makeDeadlines(timeout)
  const getStorage = typeof storage === 'function'
    ? async (request: FastifyRequest) => await accessChosen(await storage(request))
    : makeConstant(await access(storage))
  const askHost = authorize && (async (request: FastifyRequest, intent: Intent) =>
    checkGrant(family, await authorize(request, intent)))

  return (request, other) => ({
    other,
    authorize: intent => askHost === undefined ? unlimited : askHost(request, intent),
    storage: () => getStorage(request),
    signal: new RequestDeadline(deadlines, request.raw),
    waiting,
    makers,
    trace: 'opentelemetry' in request ? (step, work) => traceStep(request, step, work) : undefined,
    committed: onCommitted && (change => { notifyHost(onCommitted, change, request) })
  })

  async function accessChosen (chosen: Storage): Promise<GuardedStorage> {
    if (!isStorage(chosen)) throw new errorCodes.FST_DEALBOOK_NO_STORAGE(family.name)
    return await guardOpening(() => access(chosen))
  }
}

function makeConstant<T> (value: T): () => T {
  return () => value
}

// Nothing waits for it, and its failure is only logged.
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

function toDate (value: Date | string | undefined): Date | undefined {
  return value === undefined ? undefined : new Date(value)
}

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
