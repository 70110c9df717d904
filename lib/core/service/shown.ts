import { type TSchema, Type } from '@sinclair/typebox'
import { type FieldChange, type FieldChanges, isUnknown } from '../family/changes.js'
import type { Family } from '../family/family.js'
import { type Flaw, problemCodes } from '../problems.js'
import { isObject, type Members, unescapePointer } from '../values/json.js'
import type { CommandRecord, KeptProblem } from './record.js'
import { nameRecordOf } from './renamed.js'

// Another version of a family may have more fields, operations and parameters. Its entries are in the same log.

/**
 * An entry in the names of the family, with what the family has.
 *
 * @param owner the family of the command; undefined if it is not known here, and only the action is shown
 */
export function toShown<R extends CommandRecord> (family: Family, record: R, owner: Family | undefined): R {
  const own = nameRecordOf(family, record, owner)
  const { action, params, changes, problem } = own
  const expected = owner && getKnown(owner).params.get(action)
  const keptParams = expected && params && keepKnown([expected], params)
  const keptChanges = changes && keepChanges(getKnown(family), changes)
  const keptProblem = problem && keepKnownProblem(getKnown(family), expected, problem)
  if (keptParams === params && keptChanges === changes && keptProblem === problem) return own
  const { params: _params, ...rest } = own
  return {
    ...rest,
    ...(keptParams && { params: keptParams }),
    ...(keptChanges && { changes: keptChanges }),
    ...(keptProblem && { problem: keptProblem })
  } as R
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
function keepKnownProblem ({ fields }: KnownParts, expected: TSchema | undefined, problem: KeptProblem): KeptProblem {
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
