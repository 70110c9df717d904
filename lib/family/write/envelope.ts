import { Type } from '@sinclair/typebox'
import type { TProperties } from '@sinclair/typebox'
import { nearest } from '../../values/nearest.js'
import type { CompiledOperation, Family } from '../model/family.js'
import { compileParams } from '../model/params.js'
import type { Members } from '../model/params.js'
import { invalidBody, readSent } from './sent.js'

/** A body that names its operation: `{ "action": "HoldDeal", "params": { … } }`. */
export interface Envelope {
  readonly action: string
  readonly params: Members
  /** Members besides action and params. */
  readonly others: Members
}

/** @param others further members that the body must have */
export function compileEnvelope (family: Family, others: TProperties = {}): (body: Members) => Envelope {
  const envelope = compileParams(Type.Object({ ...others, action: Type.String(), params: Type.Optional(Type.Object({})) }))

  return body => {
    const { action, params = {}, ...rest } = readSent(envelope, body) as { action: string, params?: Members }
    const { params: expected } = operationNamed(family, action)
    return { action, params: readSent(expected, params, '/params'), others: rest }
  }
}

function operationNamed ({ operations }: Family, action: string): CompiledOperation {
  const found = operations.get(action)
  if (found !== undefined) return found
  const meant = nearest(action, operations.keys())
  const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`
  throw invalidBody([{ pointer: '/action', detail: `must be one of ${[...operations.keys()].join(', ')}.${hint}` }])
}
