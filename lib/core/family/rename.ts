import { errorCodes } from '../errors.js'
import { isObject, type Members } from '../values/json.js'
import { didYouMean } from '../values/words.js'
import type { Operation } from './definition.js'
import type { Family, Names, Renaming } from './family.js'
import { VersionNames } from './renaming.js'

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
  const sources = new Map(renamed.map(([own, before]) => [own, earlier?.toBase(before) ?? before]))
  const named = new Map(Array.from(sources, ([own, name]) => [name, own]))
  return new VersionNames(earlier?.base ?? family, sources, named)
}

function renameMembers<T extends Members> (names: Names, members: T): T {
  return mapEntries(members, (name, value) => [names.get(name) ?? name, value]) as T
}

export function mapEntries (
  members: object, map: (name: string, value: any) => [string, unknown]
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => map(name, value)))
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
