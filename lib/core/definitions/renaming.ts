import type { FieldChanges } from '../family/changes.js'
import type { Family, Renaming } from '../family/family.js'
import { invertNames, type Names, type NameTree, renameWithin } from '../family/name-tree.js'
import { mapConditions } from '../storage/conditions.js'
import type { Condition, FoundText, Query, StorageReads, Stored } from '../storage/storage.js'
import { makeListWriter, type Members } from '../values/json.js'

export class VersionNames implements Renaming {
  /** The fields of the base, by lists of names. */
  readonly #fields = new WeakMap<readonly string[], readonly string[]>()

  readonly #back: NameTree

  /**
   * @param sources the names in the base, by those here
   * @param names the names here, by those in the base
   * @param tree the same names, and those within fields
   */
  constructor (readonly base: Family, readonly sources: Names, readonly names: Names, readonly tree: NameTree) {
    this.#back = invertNames(tree)
  }

  toBase (name: string): string {
    return this.sources.get(name) ?? name
  }

  show<T extends Members> (members: T): T {
    return takeKnown(this.names, members, this.tree)
  }

  showChanges (changes: FieldChanges): FieldChanges {
    const { inner } = this.tree
    return takeKnown(this.names, mapEach(changes, (name, change) => mapEach(change, (member, value) =>
      member === 'omitted' ? value : renameWithin(inner.get(name), value))))
  }

  parse (item: Stored): Stored {
    const { inner } = this.#back
    return Object.fromEntries(Object.entries(item).map(([name, value]) =>
      [this.toBase(name), renameWithin(inner.get(name), value)])) as never
  }

  parseConditions (conditions: readonly Condition[]): Condition[] {
    return mapConditions(conditions, each => ({ ...each, field: this.toBase(each.field) }))
  }

  parseParams (action: string | undefined, params: Members): Members {
    return takesFields(this.base, action) ? this.#addExtra(takeKnown(this.sources, params, this.#back), params) : params
  }

  showParams (action: string | undefined, params: Members): Members {
    return takesFields(this.base, action) ? this.#addExtra(takeKnown(this.names, params, this.tree), params) : params
  }

  /** A creation also has parameters that are no fields. */
  #addExtra (taken: Members, params: Members): Members {
    const extra = this.base.lifecycle?.extra.filter(name => Object.hasOwn(params, name)) ?? []
    return extra.length === 0 ? taken : { ...taken, ...Object.fromEntries(extra.map(name => [name, params[name]])) }
  }

  listPointed (action: string | undefined): NameTree {
    if (takesFields(this.base, action)) return this.tree
    const params = this.base.operations.get(action ?? '')?.params.schema.properties ?? {}
    const isField = ([name]: readonly [string, unknown]): boolean => !Object.hasOwn(params, name)
    const { names, inner } = this.tree
    return { names: new Map([...names].filter(isField)), inner: new Map([...inner].filter(isField)) }
  }

  read (storage: StorageReads): StorageReads {
    const { findText } = storage
    return {
      get: (family, id, signal) => storage.get(family, id, signal).then(item => item && this.show(item)),
      find: async (family, query, signal) => {
        const found = await storage.find(family, this.#parseQuery(query), signal)
        return { ...found, items: found.items.map(item => this.show(item)) }
      },
      ...(findText !== undefined && {
        findText: async (family, query, members, signal) => {
          const fields = this.#listFields(members)
          const asked = this.#parseQuery(query)
          // Storages know the names of fields only.
          const isNested = fields.some(field => this.tree.inner.has(field))
          const names = isNested ? undefined : members
          return this.#showText(await findText.call(storage, family, asked, fields, signal, names), members)
        }
      })
    }
  }

  #parseQuery (query: Query): Query {
    const order = query.order.map(term => ({ ...term, field: this.toBase(term.field) }))
    return { ...query, where: this.parseConditions(query.where), order }
  }

  /** The same list for the same names, by which a storage may keep how it writes them. */
  #listFields (members: readonly string[]): readonly string[] {
    const fields = this.#fields.get(members) ?? members.map(name => this.toBase(name))
    this.#fields.set(members, fields)
    return fields
  }

  #showText (found: FoundText, members: readonly string[]): FoundText {
    const { text, isNamed, first, last } = found
    const items = (): Stored[] => JSON.parse(`[${text}]`) as Stored[]
    return {
      ...found,
      text: isNamed === true ? text : makeListWriter(members)(items().map(item => this.show(item))),
      ...(first && { first: this.show(first) }),
      ...(last && { last: this.show(last) })
    }
  }
}

/** Only the parameters of a creation or an edit are fields. */
function takesFields ({ lifecycle, edit }: Family, action: string | undefined): boolean {
  return action !== undefined && (action === lifecycle?.createAction || action === edit?.operation.action)
}

// Unknown members might have one of the names.
function takeKnown<T extends Members> (names: Names, members: T, { inner }: Pick<NameTree, 'inner'> = noNames): T {
  const taken: Record<string, unknown> = {}
  for (const name in members) {
    const known = names.get(name)
    if (known === undefined) continue
    taken[known] = inner.size === 0 ? members[name] : renameWithin(inner.get(name), members[name])
  }
  return taken as T
}

const noNames = { inner: new Map<string, NameTree>() }

function mapEach<T extends Members> (members: T, map: (name: string, value: any) => unknown): T {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, map(name, value)])) as T
}
