import type { FastifyInstance } from 'fastify'
import { errorCodes } from '../../core/errors.js'
import type { Family } from '../../core/family/family.js'
import { readRouterSetting } from '../router.js'

// A UUID, which every command has that no client named, and most new items.
const idLength = 36

/** Refuses a host that cannot serve the family: its router would answer 414 at every address that we give. */
export function checkHost (app: FastifyInstance, { name, writable }: Family): void {
  const maxParamLength = readRouterSetting(app, 'maxParamLength')
  if (!writable || maxParamLength >= idLength) return
  const flaw = `the host's router option "maxParamLength" is ${maxParamLength}, but ids have ${idLength} characters`
  throw new errorCodes.FST_DEALBOOK_INVALID_OPTION(name, flaw)
}
