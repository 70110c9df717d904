import { type TSchema, Type } from '@sinclair/typebox'
import { type FieldChange, type FieldChanges, isUnknown } from '../family/changes.js'
import type { Family } from '../family/family.js'
import { type HiddenNames, leadsToHidden, omitHidden } from '../family/hidden-names.js'
import { differsHidden } from '../family/narrow.js'
import { type Flaw, problemCodes } from '../problems.js'
import { isObject, type Members, unescapePointer } from '../values/json.js'
import type { CommandRecord, KeptProblem } from './record.js'
import { explainInState, type StateReason } from './refusal.js'
import { nameRecordOf } from './renamed.js'

// Another version of a family may have more fields, operations and parameters. Its entries are in the same log.

/**
 * An entry in the names of the family, with what the family has.
 *
 * @param owner the family of the command; undefined if it is not known here, and only the action is shown
 * @param reader the principal who reads it
 */
export function toShown<R extends CommandRecord> (
  family: Family, record: R, owner: Family | undefined, reader?: string
): R {
  const own = nameRecordOf(family, record, owner)
  const shown = keepKnownParts(family, own, owner)
  if (family.hiding === undefined && owner?.hiding === undefined) return shown
  return hideInEntry(shown, own, { family, owner, reader })
}

function keepKnownParts<R extends CommandRecord> (family: Family, own: R, owner: Family | undefined): R {
  const { action, params, changes, problem } = own
  const expected = owner && getKnown(owner).params.get(action)
  const keptParams = expected && params && keepKnown([expected], params)
  const keptChanges = changes && keepChanges(getKnown(family), changes)
  const keptProblem = problem && keepKnownProblem(family, expected, problem)
  if (keptParams === params && keptChanges === changes && keptProblem === problem) return own
  const { params: _params, ...rest } = own
  return {
    ...rest,
    ...(keptParams && { params: keptParams }),
    ...(keptChanges && { changes: keptChanges }),
    ...(keptProblem && { problem: keptProblem })
  } as R
}

interface EntryReading {
  readonly family: Family
  readonly owner: Family | undefined
  readonly reader: string | undefined
}

/** @param whole with everything that the command changed */
function hideInEntry<R extends CommandRecord> (shown: R, whole: R, { family, owner, reader }: EntryReading): R {
  const { params, changes, problem } = shown
  // Parameters that are no fields may have the values of hidden ones, under any name.
  const isTouched = changesHidden(family, whole) || (whole.about !== undefined && owner?.hiding?.hidesFields === true)
  const kept = params && isTouched ? keepFields(owner, whole.action, params) : params
  const { params: _, ...rest } = shown
  const entry = {
    ...rest,
    ...(kept && { params: omitWithin(owner, whole.action, kept) }),
    ...(changes && family.hiding && { changes: omitFromChanges(family.hiding.names, changes) }),
    ...(problem && { problem: hideInProblem(family, problem) })
  } as R
  if (![family, owner].some(each => each?.hiding?.hidesPrincipal === true)) return entry
  // The id is the one that it has for this reader, which now cannot be found by the principal.
  const { principal, chosenId, id, ...others } = entry
  return { id: principal === reader ? chosenId ?? id : id, ...others } as unknown as R
}

/** Whether a command set or changed something hidden; true if that is not known. */
function changesHidden (family: Family, { outcome, changes }: CommandRecord): boolean {
  if (family.hiding?.hidesFields !== true || outcome !== 'done') return false
  return changes === undefined ||
    Object.entries(changes).some(([name, { from, to }]) => differsHidden(family, name, from, to))
}

/** Of the parameters of a creation or an edit, those that are fields. */
function keepFields (owner: Family | undefined, action: string, params: Members): Members | undefined {
  if (owner?.edit?.operation.action === action) return params
  const { lifecycle } = owner ?? {}
  if (lifecycle?.createAction !== action) return undefined
  return Object.fromEntries(Object.entries(params).filter(([name]) => !lifecycle.extra.includes(name)))
}

/** A schema that allows any members also allows those that are hidden. */
function omitWithin ({ hiding, edit, lifecycle }: Partial<Family> = {}, action: string, params: Members): Members {
  const takesFields = action === edit?.operation.action || action === lifecycle?.createAction
  return hiding === undefined || !takesFields ? params : omitHidden(hiding.names, params)
}

function omitFromChanges (names: HiddenNames, changes: FieldChanges): FieldChanges {
  return Object.fromEntries(Object.entries(changes).map(([name, change]): [string, FieldChange] => {
    const within = names.get(name)
    const { from, to, ...others } = change
    if (within === undefined || within === 'whole') return [name, change]
    return [name, {
      ...'from' in change && { from: omitHidden(within, from) },
      ...'to' in change && { to: omitHidden(within, to) },
      ...others
    }]
  }))
}

/** A problem as a caller gets it: it must not tell of what is hidden. The host's texts stay. */
export function hideInProblem<P extends Pick<KeptProblem, 'code' | 'detail' | 'members' | 'errors' | 'status'>> (
  { hiding }: Family, problem: P
): P {
  const { code, detail, members, errors = [], status } = problem
  if (hiding === undefined) return problem
  const isHidden = (flaw: Flaw): boolean =>
    'pointer' in flaw && leadsToHidden(hiding.names, flaw.pointer.split('/').slice(1).map(unescapePointer))
  if (errors.some(isHidden)) {
    return { code, detail: problemCodes[code].title, members: {}, ...(status !== undefined && { status }) } as P
  }
  const { state, ...others } = members as Members & Partial<StateReason>
  if (code !== 'wrong-state' || typeof state !== 'string' || !hiding.states.has(state)) return problem
  const reason = others as StateReason
  const isOurs = detail === explainInState(hiding.whole, { ...reason, state })
  return { ...problem, members: others, detail: isOurs ? explainInState(hiding.whole, reason) : detail }
}

interface KnownParts {
  readonly fields: TSchema
  /** Members of all fields, including those that clients never read. */
  readonly names: ReadonlySet<string>
  /** By action. */
  readonly params: ReadonlyMap<string, TSchema>
}

const knownByFamily = new WeakMap<Family, KnownParts>()

function getKnown (family: Family): KnownParts {
  let known = knownByFamily.get(family)
  if (known === undefined) knownByFamily.set(family, known = compileKnown(family))
  return known
}

function compileKnown ({ schema, members, ownFields, lifecycle, operations, edit }: Family): KnownParts {
  const readable = Object.fromEntries(members.map(name => [name, schema.properties[name] as TSchema]))
  const params = new Map<string, TSchema>()
  const add = (action: string, sent: Readonly<Record<string, TSchema>>, takesFields: boolean): void => {
    const open = Object.entries(sent).filter(([, { writeOnly }]) => writeOnly !== true)
    // A version may show a field that only another one lets clients send.
    params.set(action, Type.Object({ ...takesFields && readable, ...Object.fromEntries(open) }))
  }
  for (const [action, compiled] of operations) add(action, compiled.params.schema.properties, compiled === edit)
  if (lifecycle !== undefined) {
    const { createAction, deletion } = lifecycle
    add(createAction, lifecycle.params.schema.properties, true)
    if (deletion !== undefined) add(deletion.operation.action, {}, false)
  }
  return { fields: Type.Object(readable), names: new Set(ownFields.map(({ name }) => name)), params }
}

function keepChanges ({ fields, names }: KnownParts, changes: FieldChanges): FieldChanges {
  const kept: Record<string, FieldChange> = {}
  let isWhole = true
  for (const name of Object.keys(changes)) {
    const change = changes[name] as FieldChange
    const schema = fields.properties[name] as TSchema | undefined
    // The log shows that a field was changed which clients never read, but not its values.
    const its = schema === undefined ? names.has(name) ? {} : undefined : keepKnownChange(schema, change)
    if (its !== undefined) kept[name] = its
    isWhole &&= its === change
  }
  return isWhole ? changes : kept
}

const omitted: TSchema = Type.Array(Type.String())

/** Where both values are missing, an earlier version left them out. */
function keepKnownChange (schema: TSchema, change: FieldChange): FieldChange {
  if (isUnknown(change)) return { omitted: ['from', 'to'] }
  const properties = { from: schema, to: schema, omitted }
  return keepKnown([{ type: 'object', properties } as unknown as TSchema], change)
}

/** Why a command of another version was refused may be about what this one does not have. */
function keepKnownProblem (family: Family, expected: TSchema | undefined, problem: KeptProblem): KeptProblem {
  const { fields } = getKnown(family)
  const { code, status, errors = [] } = problem
  const isKnown = (flaw: Flaw): boolean => {
    const [, name = ''] = 'pointer' in flaw ? flaw.pointer.split('/') : []
    return name === '' || [fields, expected].some(each => Object.hasOwn(each?.properties ?? {}, unescapePointer(name)))
  }
  if (expected !== undefined && errors.every(isKnown)) return problem
  return { code, detail: problemCodes[code].title, members: {}, ...(status !== undefined && { status }) }
}

/** The same value if the schemas, of which it has one, have all its members. */
function keepKnown<T> (schemas: readonly TSchema[], value: T, ids: ReadonlyMap<string, TSchema> = noIds): T {
  if (typeof value !== 'object' || value === null) return value
  const named = new Map(ids)
  const options = schemas.flatMap(schema => listOptions(schema, named))
  if (options.some(acceptsAnyMember)) return value
  if (Array.isArray(value)) {
    const items = options.flatMap(({ items = [] }) => items as TSchema | TSchema[])
    const kept = value.map((each: unknown) => keepKnown(items, each, named))
    return kept.every((each, index) => each === value[index]) ? value : kept as T
  }
  const kept: Record<string, unknown> = {}
  let isWhole = true
  for (const [name, member] of Object.entries(value)) {
    const known = options.flatMap(option => findMember(option, name))
    if (known.length > 0) kept[name] = keepKnown(known, member, named)
    isWhole &&= kept[name] === member
  }
  return isWhole ? value : kept as T
}

const noIds: ReadonlyMap<string, TSchema> = new Map()

/** @param ids those of recursive schemas, by which they refer to themselves */
function listOptions (schema: TSchema, ids: Map<string, TSchema>): TSchema[] {
  const { $id, $ref, anyOf = [], allOf = [], oneOf = [] } = schema
  if ($id !== undefined) ids.set($id, schema)
  const referred = $ref === undefined ? undefined : ids.get($ref)
  if (referred !== undefined) return listOptions(referred, ids)
  return [schema, ...[...anyOf, ...allOf, ...oneOf].flatMap((each: TSchema) => listOptions(each, ids))]
}

const limiting = ['type', 'const', 'enum', 'anyOf', 'allOf', 'oneOf', 'properties', 'items', 'not', '$ref']

/** Whether a value may have any members. */
function acceptsAnyMember (schema: TSchema): boolean {
  const { type, properties, patternProperties, additionalProperties: others, items, anyOf, allOf, oneOf } = schema
  if (limiting.every(word => schema[word] === undefined)) return true
  return type === 'object'
    ? others === true || [properties, patternProperties, others, anyOf, allOf, oneOf].every(each => each === undefined)
    : type === 'array' && items === undefined
}

function findMember ({ properties = {}, patternProperties = {}, additionalProperties: others }: TSchema, name: string) {
  if (Object.hasOwn(properties, name)) return [properties[name] as TSchema]
  const patterns = Object.keys(patternProperties).filter(pattern => new RegExp(pattern, 'u').test(name))
  if (patterns.length > 0) return patterns.map(pattern => patternProperties[pattern] as TSchema)
  return isObject(others) ? [others as Members as TSchema] : []
}
