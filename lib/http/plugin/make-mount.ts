import type { FastifyRequest } from 'fastify'
import { errorCodes } from '../../core/errors.js'
import type { Family } from '../../core/family/family.js'
import { compileGrammar } from '../../core/query/grammar.js'
import { readMakers } from '../../core/service/caller.js'
import { logList } from '../../core/service/record.js'
import { makeCallers } from '../../core/service/request-caller.js'
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
  const caller = await makeCallers(family, options, makers, timeout, (other, request: FastifyRequest) => {
    const found = neighbours.find(other.name, mount)
    return found && { family: found.family, caller: found.caller(request) }
  })
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
