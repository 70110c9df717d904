import { errorCodes } from '../errors.js'
import { mapConditions } from '../storage/conditions.js'
import type { Condition, Query, Stored } from '../storage/storage.js'
import { isObject, type Members } from '../values/json.js'
import { didYouMean } from '../values/words.js'
import type { Operation } from './definition.js'
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

function renameMembers<T extends Members> (names: Names, members: T): T {
  return mapEntries(members, (name, value) => [names.get(name) ?? name, value]) as T
}

export function mapEntries (
  members: object, map: (name: string, value: any) => [string, unknown]
): Record<string, unknown> {
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

/** Renames the fields that a definition names. */
export class Renamer {
  readonly #forward: Names
  readonly #backward: Names

  /** @param params of operations, which keep their names */
  constructor (names: Readonly<Record<string, string>>, readonly params: readonly string[]) {
    this.#forward = new Map(Object.entries(names))
    this.#backward = new Map(Array.from(this.#forward, ([name, to]) => [to, name]))
  }

  /** A name, also in an order, or a list of names. */
  rename (value: unknown): unknown {
    if (Array.isArray(value)) return value.map(each => this.rename(each))
    return typeof value === 'string' ? value.replace(/[^-].*/, name => this.#forward.get(name) ?? name) : value
  }

  members<T extends Members> (members: T): T {
    return renameMembers(this.#forward, members)
  }

  /** The item in the names of the base. */
  readonly back = (item: Members): never => renameMembers(this.#backward, item) as never

  others (others: Operation['with']): unknown {
    return others && mapEntries(others, (name, other) => [name, this.rename(other)])
  }

  filter (filter?: string): string | undefined {
    return filter?.replace(/(?<=(^|&)(min-|max-)?)\w+/g, name => this.#forward.get(name) ?? name)
  }

  labels (labels: Members): Members {
    const kept = Object.entries(labels).filter(([name]) => this.params.includes(name))
    return { ...this.members(labels), ...Object.fromEntries(kept) }
  }
}
