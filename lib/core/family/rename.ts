import { Type } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import type { Condition, FieldCondition, Query, Stored } from '../storage/storage.js'
import { isObject, type Members } from '../values/json.js'
import { didYouMean } from '../values/words.js'
import { type FamilyDefinition, type Operation, readCreate, readEdit } from './definition.js'
import type { Family, Names, Renaming } from './family.js'

/** @param earlier set if the family is already renamed */
export function makeRenaming (family: Family, names: unknown, earlier = family.renaming): Renaming {
  const refuse = (flaw: string): Error => new errorCodes.FST_DEALBOOK_INVALID_RENAMING(family.name, flaw)
  if (!isObject(names)) throw refuse('give the new names by the old ones, such as { total: "amount" }')
  const fields = family.ownFields.map(({ name }) => name)
  const members = [...new Set([...family.members, ...fields])]
  const renamed = members.map(name => [names[name] ?? name, name] as [string, string])
  for (const [name, to] of Object.entries(names)) {
    if (name === 'id') throw refuse('the id cannot be renamed')
    if (!fields.includes(name)) throw refuse(`"${name}" is not a field.${didYouMean(name, fields)}`)
    if (typeof to !== 'string') throw refuse(`the new name of "${name}" must be a string`)
    if (renamed.filter(([own]) => own === to).length > 1) throw refuse(`two fields would be called "${to}"`)
  }
  const toBase = new Map(renamed.map(([own, before]) => [own, earlier?.toBase.get(before) ?? before]))
  const toOwn = new Map(Array.from(toBase, ([own, name]) => [name, own]))
  return { base: earlier?.base ?? family, toBase, toOwn }
}

export function renameMembers<T extends Members> (names: Names, members: T): T {
  const renamed: Record<string, unknown> = {}
  for (const name in members) renamed[names.get(name) ?? name] = members[name]
  return renamed as T
}

/** Without members that only other versions have, and that might have one of the names. */
export function renameKnown<T extends Members> (names: Names, members: T): T {
  const renamed: Record<string, unknown> = {}
  for (const name in members) {
    const known = names.get(name)
    if (known !== undefined) renamed[known] = members[name]
  }
  return renamed as T
}

export function toOwnItem<T extends Stored | undefined> ({ renaming }: Family, item: T): T {
  return renaming === undefined || item === undefined ? item : renameKnown(renaming.toOwn, item)
}

export function toBaseItem ({ renaming }: Family, item: Stored): Stored {
  return renaming === undefined ? item : renameMembers(renaming.toBase, item)
}

export function renameConditions (names: Names, conditions: readonly Condition[]): Condition[] {
  const rename = (condition: FieldCondition): FieldCondition =>
    ({ ...condition, field: names.get(condition.field) ?? condition.field })
  return conditions.map(condition => condition.op === 'any'
    ? { ...condition, of: condition.of.map(all => all.map(rename)) }
    : rename(condition))
}

export function toBaseQuery ({ toBase }: Renaming, query: Query): Query {
  const order = query.order.map(term => ({ ...term, field: toBase.get(term.field) ?? term.field }))
  return { ...query, where: renameConditions(toBase, query.where), order }
}

/** Only the parameters of a creation or an edit are fields. */
function takesFields ({ lifecycle, edit }: Family, action: string): boolean {
  return action === lifecycle?.createAction || action === edit?.operation.action
}

export function renameParams (family: Family, names: Names, action: string, params: Members): Members {
  return takesFields(family, action) ? renameKnown(names, params) : params
}

/** The new names for pointers: parameters that are not fields keep theirs. */
export function listPointed (family: Family, { toOwn }: Renaming, action: string): Names {
  if (takesFields(family, action)) return toOwn
  const params = family.operations.get(action)?.params.schema.properties ?? {}
  return new Map([...toOwn].filter(([name]) => !Object.hasOwn(params, name)))
}

/**
 * The definition under the new names. Its rules are those of the base: they are called for the base only, except for
 * those that pages and the attribute form need.
 */
export function renameDefinition (definition: FamilyDefinition, names: Readonly<Record<string, string>>) {
  const { fields: { properties }, create, edit, attributes, state, title, queries = {}, operations = {} } = definition
  const { states, search, labels } = definition
  const { fields: sent, with: others } = readCreate(definition)
  const forward: Names = new Map(Object.entries(names))
  const back = (item: Members) => renameMembers(new Map(Array.from(forward, ([name, to]) => [to, name])), item)
  const rename = (name: string): string => forward.get(name) ?? name
  const renameAll = (list: readonly string[]) => list.map(rename)
  const renameOthers = (others: Operation['with'] = {}) => Object.fromEntries(Object.entries(others)
    .map(([name, other]) => [name, typeof other === 'string' ? rename(other) : other]))
  return {
    ...definition,
    fields: Type.Object(renameMembers(forward, properties)),
    ...(create && { create: { fields: renameAll(sent), with: renameOthers(others as Operation['with']) } }),
    ...(edit && { edit: { ...readEdit(edit), fields: renameAll(readEdit(edit).fields) } }),
    ...(attributes && {
      attributes: {
        fields: renameAll(attributes.fields),
        read (wanted: Members, current: Members) {
          const meant = attributes.read(back(wanted) as never, back(current) as never)
          if ('field' in meant) return { ...meant, field: rename(meant.field) }
          return meant.operation === 'edit' ? { ...meant, params: renameMembers(forward, meant.params) } : meant
        }
      }
    }),
    ...(state && { state: (item: Members) => state(back(item) as never) }),
    ...(states && { states: renameStates(states, rename) }),
    ...(search && { search: renameAll(search) }),
    ...(labels && { labels: renameLabels(labels, rename, listParams(operations as Record<string, Operation>)) }),
    operations: Object.fromEntries(Object.entries(operations as Record<string, Operation>).map(([name, operation]) => {
      const { with: others, changes } = operation
      return [name, {
        ...operation,
        ...(others && { with: renameOthers(others) }),
        ...(changes && { changes: renameAll(changes) })
      }]
    })),
    ...(title && { title: rename(title) }),
    ...(definition.list && { list: renameAll(definition.list) }),
    ...(definition.order && { order: definition.order.map(term => term.replace(/[^-].*/, rename)) }),
    ...(definition.indexes && { indexes: definition.indexes.map(row => renameAll([row].flat())) }),
    ...(definition.unique && { unique: definition.unique.map(renameAll) }),
    ...(definition.references && { references: renameMembers(forward, definition.references) }),
    queries: Object.fromEntries(Object.entries(queries).map(([name, { field }]) => [name, { field: rename(field) }]))
  } as unknown as FamilyDefinition
}

type Rename = (name: string) => string
type Defined<M extends keyof FamilyDefinition> = NonNullable<FamilyDefinition[M]>

function renameStates (states: Defined<'states'>, rename: Rename): Defined<'states'> {
  return Object.fromEntries(Object.entries(states).map(([state, given]) => {
    if (typeof given === 'string' || given.filter === undefined) return [state, given]
    const parts = given.filter.split('&').map(part =>
      part.replace(/^(min-|max-)?(\w+)/, (_, bound: string | undefined, name: string) => (bound ?? '') + rename(name)))
    return [state, { ...given, filter: parts.join('&') }]
  }))
}

/** @param params the names of parameters, which stay the same */
function renameLabels (labels: Defined<'labels'>, rename: Rename, params: readonly string[]): Defined<'labels'> {
  return Object.fromEntries(Object.entries(labels).map(([language, { fields, ...others }]) => {
    const both = Object.entries(fields ?? {}).flatMap(([name, label]) =>
      [...params.includes(name) ? [[name, label]] : [], [rename(name), label]])
    return [language, fields === undefined ? others : { ...others, fields: Object.fromEntries(both) }]
  }))
}

function listParams (operations: Readonly<Record<string, Operation>>): string[] {
  return Object.values(operations).flatMap(({ params }) => Object.keys(params.properties))
}
