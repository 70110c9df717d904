import { Type } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import { mapConditions } from '../storage/conditions.js'
import type { Condition, Query, Stored } from '../storage/storage.js'
import { isObject, type Members } from '../values/json.js'
import { didYouMean } from '../values/words.js'
import { type FamilyDefinition, type Operation, readCreate, readEdit } from './definition.js'
import type { Family, Names, Renaming } from './family.js'
import type { Labels, StateDefinition } from './presentation.js'

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

function renameMembers<T extends Members> (names: Names, members: T): T {
  return mapEntries(members, (name, value) => [names.get(name) ?? name, value]) as T
}

function mapEntries (members: object, map: (name: string, value: any) => [string, unknown]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => map(name, value)))
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
  return mapConditions(conditions, each => ({ ...each, field: names.get(each.field) ?? each.field }))
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
  const { fields: { properties }, create, edit, attributes, state, states, labels, references } = definition
  const { title, list, search, order, indexes, unique, queries = {}, operations = {} } = definition
  const { fields: sent, with: others } = readCreate(definition)
  const params = Object.values(operations).flatMap(({ params }) => Object.keys(params.properties))
  const forward: Names = new Map(Object.entries(names))
  const backward: Names = new Map(Array.from(forward, ([name, to]) => [to, name]))
  const back = (item: Members) => renameMembers(backward, item) as never
  return {
    ...definition,
    fields: Type.Object(renameMembers(forward, properties)),
    create: create && { fields: rename(sent), with: renameOthers(others) },
    edit: edit && { ...readEdit(edit), fields: rename(readEdit(edit).fields) },
    attributes: attributes && {
      fields: rename(attributes.fields),
      read (wanted: Members, current: Members) {
        const meant = attributes.read(back(wanted), back(current))
        if ('field' in meant) return { ...meant, field: rename(meant.field) }
        return meant.operation === 'edit' ? { ...meant, params: renameMembers(forward, meant.params) } : meant
      }
    },
    state: state && ((item: Members) => state(back(item))),
    states: states && mapEntries(states, (state, given: StateDefinition | string) =>
      [state, typeof given === 'string' ? given : { ...given, filter: renameFilter(given.filter) }]),
    labels: labels && mapEntries(labels, (language, given: Labels) =>
      [language, { ...given, fields: given.fields && renameLabels(given.fields) }]),
    operations: mapEntries(operations, (name, operation: Operation) =>
      [name, { ...operation, with: renameOthers(operation.with), changes: rename(operation.changes) }]),
    title: rename(title),
    list: rename(list),
    search: rename(search),
    order: rename(order),
    indexes: rename(indexes),
    unique: rename(unique),
    references: references && renameMembers(forward, references),
    queries: mapEntries(queries, (name, { field }) => [name, { field: rename(field) }])
  } as unknown as FamilyDefinition

  /** A name, also in an order, or a list of names. */
  function rename (value: unknown): unknown {
    if (Array.isArray(value)) return value.map(rename)
    return typeof value === 'string' ? value.replace(/[^-].*/, name => forward.get(name) ?? name) : value
  }

  function renameOthers (others: Operation['with']) {
    return others && mapEntries(others, (name, other) => [name, rename(other)])
  }

  function renameFilter (filter?: string): string | undefined {
    return filter?.replace(/(?<=(^|&)(min-|max-)?)\w+/g, name => forward.get(name) ?? name)
  }

  // Parameters keep their names.
  function renameLabels (labels: Members): Members {
    const kept = Object.entries(labels).filter(([name]) => params.includes(name))
    return { ...renameMembers(forward, labels), ...Object.fromEntries(kept) }
  }
}
