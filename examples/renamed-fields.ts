// A storage as another version of a family sees it: some of its fields have other names.
import type { Change, Condition, FamilyShape, FieldCondition, Order, Storage, Stored } from 'fastify-dealbook'

type Members = Readonly<Record<string, unknown>>

/** @param names the stored name of each field that is called otherwise here: `{ title: 'name' }` */
export function renamedFields (storage: Storage, family: string, names: Readonly<Record<string, string>>): Storage {
  const stored = (name: string) => names[name] ?? name
  const shown = (name: string) => Object.keys(names).find(key => names[key] === name) ?? name
  const rename = (members: Members, to: (name: string) => string) =>
    Object.fromEntries(Object.entries(members).map(([name, value]) => [to(name), value]))

  /** An item of the family, or an entry of its log, which has what was sent and what was made at a creation. */
  function convert (kind: string, item: Stored, to: (name: string) => string): Stored {
    if (kind === family) return rename(item, to) as Stored
    if (kind !== 'commands' || item.family !== family) return item
    return {
      ...item,
      ...(item.params === undefined ? {} : { params: rename(item.params as Members, to) }),
      ...(item.result === undefined ? {} : { result: rename(item.result as Members, to) })
    }
  }

  function convertCondition (condition: Condition): Condition {
    if (condition.op === 'any') return { ...condition, of: condition.of.map(all => all.map(convertField)) }
    return convertField(condition)
  }

  function convertField (condition: FieldCondition): FieldCondition {
    return { ...condition, field: stored(condition.field) }
  }

  return {
    async prepare (shape: FamilyShape) {
      if (shape.name !== family) return await storage.prepare(shape)
      await storage.prepare({
        ...shape,
        fields: shape.fields.map(field => ({ ...field, name: stored(field.name) })),
        indexes: shape.indexes.map(index => index.map(stored))
      })
    },

    async find (kind, query) {
      const asked = kind !== family
        ? query
        : {
            ...query,
            where: query.where.map(convertCondition),
            order: query.order.map((order): Order => ({ ...order, field: stored(order.field) }))
          }
      const found = await storage.find(kind, asked)
      return { ...found, items: found.items.map(item => convert(kind, item, shown)) }
    },

    async get (kind, id) {
      const item = await storage.get(kind, id)
      return item && convert(kind, item, shown)
    },

    async commit (changes) {
      await storage.commit(
        changes.map((change): Change =>
          'item' in change ? { ...change, item: convert(change.family, change.item, stored) } : change
        )
      )
    },

    // The code that opened the storage closes it.
    async close () {}
  }
}
