import type { TProperties } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import type { Operation } from '../family/definition.js'
import type { Family, Renaming } from '../family/family.js'
import {
  growNames, invertNames, joinNames, type NameTree, renamePath, renameProperties, renameWithin
} from '../family/name-tree.js'
import { isOfParams } from '../family/others.js'
import { findPathSchema, listPaths } from '../family/paths.js'
import { isObject, type Members } from '../values/json.js'
import { getPathField } from '../values/paths.js'
import { didYouMean } from '../values/words.js'
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
    if (typeof to !== 'string') throw refuse(`the new name of "${name}" must be a string`)
    if (name.includes('.')) {
      const flaw = findFlawInPath(family, name, names, to)
      if (flaw !== undefined) throw refuse(flaw)
      continue
    }
    if (!fields.includes(name)) throw refuse(`"${name}" is not a field.${didYouMean(name, fields)}`)
    if (renamed.filter(([own]) => own === to).length > 1) throw refuse(`two fields would be called "${to}"`)
  }
  const sources = new Map(renamed.map(([own, before]) => [own, earlier?.toBase(before) ?? before]))
  const named = new Map(Array.from(sources, ([own, name]) => [name, own]))
  const given = growNames(Object.entries(names) as [string, string][])
  return new VersionNames(earlier?.base ?? family, sources, named, earlier ? joinNames(earlier.tree, given) : given)
}

const nestedName = /^[A-Za-z][A-Za-z0-9_]*$/

function findFlawInPath ({ schema }: Family, path: string, names: Members, to: string): string | undefined {
  const isKnown = findPathSchema(schema, path) !== undefined
  if (!isKnown) return `"${path}" is not a field.${didYouMean(path, listPaths(schema))}`
  if (!nestedName.test(to)) return `the new name of "${path}", "${to}", must be letters, digits and underscores`
  const above = path.slice(0, path.lastIndexOf('.'))
  const beside = Object.keys(findPathSchema(schema, above)?.properties as object)
  const called = beside.filter(name => (names[`${above}.${name}`] ?? name) === to)
  return called.length > 1 ? `two members of "${above}" would be called "${to}"` : undefined
}

export function mapEntries (
  members: object, map: (name: string, value: any) => [string, unknown]
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => map(name, value)))
}

/** Renames the fields that a definition names, and the paths in them. */
export class Renamer {
  readonly #forward: NameTree
  readonly #backward: NameTree

  /** @param params of operations, which keep their names */
  constructor (names: Readonly<Record<string, string>>, readonly params: readonly string[]) {
    this.#forward = growNames(Object.entries(names))
    this.#backward = invertNames(this.#forward)
  }

  /** A name, also in an order, or a list of names. */
  rename (value: unknown): unknown {
    if (Array.isArray(value)) return value.map(each => this.rename(each))
    return typeof value === 'string' ? value.replace(/[^-].*/, name => renamePath(this.#forward, name)) : value
  }

  /** What a definition has by fields or paths. */
  members<T extends Members> (members: T): T {
    return mapEntries(members, (name, value) => [renamePath(this.#forward, name), value]) as T
  }

  properties (properties: TProperties): TProperties {
    return renameProperties(this.#forward, properties)
  }

  /** Values of fields. */
  values<T extends Members> (members: T): T {
    return renameWithin(this.#forward, members) as T
  }

  /** The item in the names of the base. */
  readonly back = (item: Members): never => renameWithin(this.#backward, item) as never

  /** @param params those of the change, in which paths are looked up first */
  others (others: Operation['with'], params: TProperties): unknown {
    return others && mapEntries(others, (name, other: string | { readonly path?: string }) => {
      if (typeof other === 'string') return [name, this.rename(other)]
      const { path } = other
      return [name, path === undefined || isOfParams(path, params) ? other : { ...other, path: this.rename(path) }]
    })
  }

  /** A path that fields or parameters have, or both: those of parameters stay. */
  fieldOrParam (path: string): string[] {
    return [renamePath(this.#forward, path), ...this.params.includes(getPathField(path)) ? [path] : []]
  }

  filter (filter?: string): string | undefined {
    return filter?.replace(/(?<=(^|&)(min-|max-)?)\w+/g, name => renamePath(this.#forward, name))
  }

  /** Those of parameters keep their names. */
  labels (labels: Members): Members {
    const kept = Object.entries(labels).filter(([name]) => this.params.includes(getPathField(name)))
    return { ...this.members(labels), ...Object.fromEntries(kept) }
  }
}
