import type { TObject, TProperties, TSchema } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import { errorCodes } from '../core/errors.js'
import type { Family } from '../core/family/family.js'
import { CommandMembers, listDefaults, ServiceFields, toStored } from '../core/family/fields.js'
import { canonicalizeItem } from '../core/family/params.js'
import type { ProblemCode } from '../core/problems.js'
import { problemCodes } from '../core/problems.js'
import type { CommandRecord } from '../core/service/command.js'
import { digestParams } from '../core/service/command.js'
import type { Id, Stored } from '../core/storage/storage.js'
import { isTextId, textIdRule, uuidv7 } from '../core/values/ids.js'
import type { MemberFlaw, Members } from '../core/values/json.js'
import { findJsonFlaw } from '../core/values/json.js'
import { makeValidator } from '../core/values/validate.js'

/** One item of a load, as it will be stored. */
export interface Row {
  /** Which of the load's items it is, from 1. */
  readonly number: number
  readonly item: Stored
  /** The members of the service that were given with it. */
  readonly given: readonly string[]
  readonly entries: readonly CommandRecord[]
}

const serviceMembers = Object.keys(ServiceFields.properties)

/** A function that reads the items of a load one after the other. @param log the member with the log of each */
export function makeRowReader (family: Family, log: string | undefined): (item: unknown, number: number) => Row {
  const properties = getOwnProperties(family)
  const defaults = listDefaults(properties)
  const validate = makeValidator(Type.Object({
    ...loosen(properties, name => Object.hasOwn(defaults, name)),
    ...loosen(ServiceFields.properties, () => true),
    ...(log === undefined ? {} : { [log]: Type.Optional(Type.Array(makeEntrySchema(family))) })
  }, { additionalProperties: false }))

  return (item, number) => {
    const flaw = findJsonFlaw(item) ?? validate(item)[0]
    if (flaw !== undefined) throw refuseRow(family, number, flaw)
    const members = dropUndefined(item as Members)
    const stored = complete(family, { ...defaults, ...members })
    const entries = log === undefined ? [] : (members[log] ?? []) as readonly Members[]
    return {
      number,
      item: stored,
      given: serviceMembers.filter(name => members[name] !== undefined),
      entries: entries.map((entry, index) => readEntry(family, stored, entry, ({ pointer, detail }) => {
        throw refuseRow(family, number, { pointer: `/${log}/${index}${pointer}`, detail })
      }))
    }
  }
}

export function refuseRow ({ name }: Family, number: number, { pointer, detail }: MemberFlaw): Error {
  const error = new errorCodes.FST_DEALBOOK_INVALID_LOAD(name, number, pointer === '' ? 'it' : pointer, detail)
  // For a program that knows where the item came from, such as from a line of a file.
  return Object.assign(error, { item: number })
}

function complete ({ ownFields }: Family, members: Members): Stored {
  const now = new Date().toISOString()
  const [createdAt, updatedAt] = [members.createdAt, members.updatedAt].map(moment => toStored('date-time', moment))
  return {
    ...canonicalizeItem(ownFields, members) as { readonly id: Id },
    revision: (members.revision ?? 1) as number,
    createdAt: (createdAt ?? updatedAt ?? now) as string,
    updatedAt: (updatedAt ?? createdAt ?? now) as string
  }
}

function getOwnProperties ({ schema, ownFields }: Family): TProperties {
  return Object.fromEntries(ownFields.map(({ name }) => [name, schema.properties[name] as TSchema]))
}

/** The properties, some of them optional. */
function loosen (properties: TProperties, isOptional: (name: string) => boolean): TProperties {
  return Object.fromEntries(Object.entries(properties)
    .map(([name, property]) => [name, isOptional(name) ? Type.Optional(property) : property]))
}

function dropUndefined (members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}

const { id, action, outcome, revision, createdAt, ...optional } = CommandMembers.properties

/** An entry of a log, as `service.log` returns it. Without an id it gets one; without an outcome it is `done`. */
function makeEntrySchema ({ singular, idSchema }: Family): TObject {
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
function readEntry (
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
