import type { TObject, TProperties, TSchema } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { CompiledOperation, Family } from '../../core/family/family.js'
import type { Params } from '../../core/family/params.js'
import { compileParams, readParams } from '../../core/family/params.js'
import { invalidBody } from '../../core/problems.js'
import type { Command } from '../../core/service/command.js'
import type { Members } from '../../core/values/json.js'
import { didYouMean } from '../../core/values/nearest.js'
import type { Mount } from '../mount.js'
import { nameItem, nameSchema } from '../openapi/mark.js'
import { describeId } from '../openapi/parameters.js'
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

/** The parameters of an operation as a body. */
export function describeParams (mount: Mount, action: string, { schema }: Params): TObject {
  return nameSchema(mount, `${action}Params`, schema)
}

/** What a client sends to make an item. */
export function describeNew (mount: Mount, { schema }: Params): TObject {
  return nameSchema(mount, `New${nameItem(mount)}`, schema)
}

/** What such a body can be: one schema for each operation. */
export function describeActions (mount: Mount): TSchema {
  const actions = listEnvelopes(mount, {}).map(([action, schema]) => nameSchema(mount, `${action}Action`, schema))
  return nameSchema(mount, `${nameItem(mount)}Action`, Type.Union(actions))
}

/** The same where the body also says which item is meant. */
export function describeCommands (mount: Mount): TObject[] {
  const { singular } = mount.family
  return listEnvelopes(mount, { [singular]: describeId(mount) })
    .map(([action, schema]) => nameSchema(mount, `${action}Command`, schema))
}

function listEnvelopes (mount: Mount, others: TProperties): [action: string, schema: TObject][] {
  return [...mount.family.operations].map(([action, { params }]) => {
    const schema = describeParams(mount, action, params)
    return [action, Type.Object({
      ...others,
      action: Type.Literal(action),
      params: params.fields.every(({ optional }) => optional) ? Type.Optional(schema) : schema
    }, { additionalProperties: false })]
  })
}
