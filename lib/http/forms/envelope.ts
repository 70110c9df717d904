import type { TProperties } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { CompiledOperation, Family } from '../../core/family/family.js'
import { compileParams, readParams } from '../../core/family/params.js'
import { invalidBody } from '../../core/problems.js'
import type { Command } from '../../core/service/command.js'
import type { Members } from '../../core/values/json.js'
import { didYouMean } from '../../core/values/nearest.js'
import { readItemId } from '../urls.js'
import { getJsonBody } from './body.js'

/** A body that names its operation: `{ "action": "HoldDeal", "params": { … } }`. */
interface Envelope {
  readonly action: string
  readonly params: Members
  /** Members besides action and params. */
  readonly others: Members
}

/** @param others further members that the body must have */
export function compileEnvelope (family: Family, others: TProperties = {}): (body: Members) => Envelope {
  const schema = Type.Object({ ...others, action: Type.String(), params: Type.Optional(Type.Object({})) })
  const envelope = compileParams(schema)

  return body => {
    const { action, params = {}, ...rest } = readParams(envelope, body) as { action: string, params?: Members }
    const { params: expected } = getOperationByAction(family, action)
    return { action, params: readParams(expected, params, '/params'), others: rest }
  }
}

/** Reads a request with such a body, for the item that its path names. */
export function compileItemEnvelope (family: Family): (request: FastifyRequest) => Command {
  const readEnvelope = compileEnvelope(family)
  return request => {
    const { action, params } = readEnvelope(getJsonBody(request))
    return { action, params, target: readItemId(family, request) }
  }
}

function getOperationByAction ({ operations }: Family, action: string): CompiledOperation {
  const operation = operations.get(action)
  if (operation !== undefined) return operation
  const known = [...operations.keys()]
  const detail = `must be one of ${known.join(', ')}.${didYouMean(action, known)}`
  throw invalidBody([{ pointer: '/action', detail }])
}
