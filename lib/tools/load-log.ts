import type { TObject } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import { CommandMembers } from '../core/family/command-schema.js'
import type { Family } from '../core/family/family.js'
import { toStored } from '../core/family/fields.js'
import type { ProblemCode } from '../core/problems.js'
import { problemCodes } from '../core/problems.js'
import type { CommandRecord } from '../core/service/command.js'
import { digestParams } from '../core/service/command.js'
import type { Stored } from '../core/storage/storage.js'
import { isTextId, textIdRule, uuidv7 } from '../core/values/ids.js'
import type { MemberFlaw, Members } from '../core/values/json.js'

const { id, action, outcome, revision, createdAt, ...optional } = CommandMembers.properties

/** An entry of a log, as `service.log` returns it. Without an id it gets one; without an outcome it is `done`. */
export function makeEntrySchema ({ singular, idSchema }: Family): TObject {
  return Type.Object({
    id: Type.Optional(id),
    [singular]: Type.Optional(idSchema),
    action,
    outcome: Type.Optional(outcome),
    revision,
    createdAt,
    ...optional
  }, { additionalProperties: false })
}

/** The entry as it will be stored with its item. @param refuse throws, with the member that is wrong */
export function readEntry (
  { name, singular }: Family,
  item: Stored,
  entry: Members,
  refuse: (flaw: MemberFlaw) => never
): CommandRecord {
  const { id = uuidv7(), chosenId, action, params, outcome = 'done', revision, createdAt, principal, about } = entry as
    unknown as Partial<CommandRecord> & Pick<CommandRecord, 'action' | 'revision' | 'createdAt'>
  for (const [name, text] of Object.entries({ id, chosenId })) {
    if (text !== undefined && !isTextId(text)) refuse({ pointer: `/${name}`, detail: textIdRule })
  }
  if (entry[singular] !== undefined && entry[singular] !== item.id) {
    refuse({ pointer: `/${singular}`, detail: `must be ${item.id}, the id of the item` })
  }
  // Else the next operation would be listed before it.
  if (revision > item.revision) {
    refuse({ pointer: '/revision', detail: `must not be above ${item.revision}, that of the item` })
  }
  const problem = outcome === 'refused' ? readProblem(entry.problem as Members | undefined) : undefined
  if (outcome === 'refused' && problem === undefined) {
    refuse({ pointer: '/problem', detail: 'must have the type and the detail of a problem' })
  }
  const moment = toStored('date-time', createdAt) as string
  return {
    id,
    ...(chosenId === undefined ? {} : { chosenId }),
    family: name,
    target: String(item.id),
    action,
    ...(outcome !== 'done' ? { digest: digestParams(params ?? {}) } : params === undefined ? {} : { params }),
    outcome,
    revision,
    createdAt: moment,
    updatedAt: moment,
    ...(principal === undefined ? {} : { principal }),
    ...(problem === undefined ? {} : { problem }),
    ...(about === undefined ? {} : { about })
  }
}

const typePrefix = 'urn:dealbook:problem:'

/** A problem from its body; undefined where it is none of ours. */
function readProblem (document: Members = {}): CommandRecord['problem'] {
  const { type, title, status, detail, ...members } = document
  const code = typeof type === 'string' && type.startsWith(typePrefix) ? type.slice(typePrefix.length) : ''
  if (!Object.hasOwn(problemCodes, code) || typeof detail !== 'string') return undefined
  return { code: code as ProblemCode, detail, members }
}
