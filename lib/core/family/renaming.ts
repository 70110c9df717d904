import { mapConditions } from '../storage/conditions.js'
import type { Condition, FoundText, Query, StorageReads, Stored } from '../storage/storage.js'
import { makeListWriter, type Members } from '../values/json.js'
import type { Family, Names, Renaming } from './family.js'

export class VersionNames implements Renaming {
  /** The fields of the base, by lists of names. */
  readonly #fields = new WeakMap<readonly string[], readonly string[]>()

  /** @param sources the names in the base, by those here; @param names the names here, by those in the base */
  constructor (readonly base: Family, readonly sources: Names, readonly names: Names) {}

  toBase (name: string): string {
    return this.sources.get(name) ?? name
  }

  show<T extends Members> (members: T): T {
    return takeKnown(this.names, members)
  }

  parse (item: Stored): Stored {
    return Object.fromEntries(Object.entries(item).map(([name, value]) => [this.toBase(name), value])) as never
  }

  parseConditions (conditions: readonly Condition[]): Condition[] {
    return mapConditions(conditions, each => ({ ...each, field: this.toBase(each.field) }))
  }

  parseParams (action: string | undefined, params: Members): Members {
    return takesFields(this.base, action) ? takeKnown(this.sources, params) : params
  }

  showParams (action: string | undefined, params: Members): Members {
    return takesFields(this.base, action) ? takeKnown(this.names, params) : params
  }

  listPointed (action: string | undefined): Names {
    if (takesFields(this.base, action)) return this.names
    const params = this.base.operations.get(action ?? '')?.params.schema.properties ?? {}
    return new Map([...this.names].filter(([name]) => !Object.hasOwn(params, name)))
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
          return this.#showText(await findText.call(storage, family, asked, fields, signal, members), members)
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
function takeKnown<T extends Members> (names: Names, members: T): T {
  const taken: Record<string, unknown> = {}
  for (const name in members) {
    const known = names.get(name)
    if (known !== undefined) taken[known] = members[name]
  }
  return taken as T
}
