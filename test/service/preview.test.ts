import t from 'tap'
import { type Family, getFamily, listShapes } from '../../lib/core/family/family.js'
import { type Caller, readMakers } from '../../lib/core/service/caller.js'
import { preview } from '../../lib/core/service/execute.js'
import { makeStorageAccess } from '../../lib/core/service/storage-access.js'
import type { Id, Storage } from '../../lib/index.js'
import { defineFamily, memoryStorage, Problem, Type } from '../../lib/index.js'

const shelvesPlugin = defineFamily({
  name: 'shelves',
  singular: 'shelf',
  fields: Type.Object({ id: Type.Integer(), load: Type.Integer() }),
  create: ['load']
})
const plainBoxes = defineFamily({
  name: 'boxes',
  singular: 'box',
  fields: Type.Object({ id: Type.Integer(), size: Type.Integer(), shelf: Type.Optional(Type.Integer()) }),
  create: ['size', 'shelf'],
  references: { shelf: shelvesPlugin }
})
const boxesPlugin = plainBoxes.extend({
  operations: {
    move: {
      name: 'move',
      verb: 'move',
      participle: 'moved',
      noun: 'moves',
      action: 'MoveBox',
      params: Type.Object({ twin: Type.Integer(), shelf: Type.Integer(), by: Type.Integer() }),
      with: {
        twin: { family: 'boxes', id: ({ twin }) => twin },
        shelf: { family: shelvesPlugin, id: ({ shelf }) => shelf }
      },
      creates: { spare: shelvesPlugin, box: plainBoxes },
      allowed: ({ size }) => size < 100 || 'It is too large',
      apply (box, { by }, { items: { twin, shelf } }) {
        if (by < 0) {
          throw new Problem('wrong-state', '/size is low', { errors: [{ pointer: '/size', detail: 'is low' }] })
        }
        return {
          item: { ...box, size: box.size + by },
          others: {
            twin: { ...twin, size: by > 1 ? 9 : twin?.['size'] },
            shelf: { ...shelf, load: by > 5 ? 9 : shelf?.['load'] }
          },
          created: { spare: by > 6 ? { load: by } : undefined, box: by > 7 ? { size: by } : undefined } as never
        }
      }
    }
  }
})
const renamed = boxesPlugin.rename({ size: 'volume', shelf: 'place' })

/** A caller who may do everything but see shelves, for whom these families are there. */
function makeCaller (storage: Storage, family: Family, mounted: readonly Family[]): Caller {
  const access = makeStorageAccess(listShapes(family))
  return {
    authorize ({ family, action }) {
      if (family === 'shelves' && action === 'read') throw new Problem('forbidden', 'Not you')
      return {}
    },
    other (its) {
      const found = mounted.find(({ name }) => name === (typeof its === 'string' ? its : its.name))
      return found && { family: found, caller: makeCaller(storage, found, mounted) }
    },
    storage: () => access(storage),
    makers: readMakers(family, {}),
    isGuarded: false
  }
}

async function openStorage (): Promise<Storage> {
  const storage = memoryStorage()
  for (const size of [1, 2, 100]) await boxesPlugin.service({ storage }).create({ size })
  await shelvesPlugin.service({ storage }).create({ load: 3 })
  return storage
}

t.test('a preview has the other items that would change, under the names of the version', async t => {
  const storage = await openStorage()
  const shelves = getFamily(shelvesPlugin)
  for (const [version, name, reference] of [[boxesPlugin, 'size', 'shelf'], [renamed, 'volume', 'place']] as const) {
    const family = getFamily(version)
    // Other families may know a different version of it.
    const caller = makeCaller(storage, family, [getFamily(boxesPlugin), shelves])
    const run = async (params: object, target: Id = 1) =>
      await preview(family, caller, { action: 'MoveBox', target, params: { twin: 2, shelf: 1, ...params } })
    const twin = { family, id: 2, before: { [name]: 2 }, after: { [name]: 9 } }
    const shelf = { family: shelves, id: 1, before: { load: 3 }, after: { load: 9 } }
    const spare = { family: shelves, id: 2, before: undefined, after: { load: 7 } }
    const rows: [by: number, others: object[]][] = [
      [1, []],
      [2, [twin]],
      [6, [twin, shelf]],
      [7, [twin, shelf, spare]],
      [8, [twin, shelf, { ...spare, after: { load: 8 } }, { family, id: 4, before: undefined, after: { [name]: 8 } }]]
    ]
    for (const [by, expected] of rows) {
      const { decision, others } = await run({ by })
      t.match(decision, { outcome: 'done', after: { [name]: 1 + by } })
      t.equal(others.length, expected.length, `${name} by ${by}`)
      t.match(others, expected, `${name} by ${by}`)
    }
    t.strictSame(await run({ by: 0 }), { decision: { outcome: 'unchanged' }, others: [] })
    const creation = { action: 'CreateBox', target: undefined, params: { [name]: 1, [reference]: 1 } }
    await t.rejects(preview(family, caller, creation), { errors: [{ pointer: `/${reference}` }] })
    const problem = { errors: [{ pointer: `/${name}`, detail: 'is low' }] }
    t.match(await run({ by: -1 }), { decision: { outcome: 'refused', problem }, others: { length: 0 } })
    t.match(await run({ by: 1 }, 3), { decision: { outcome: 'refused', problem: { message: 'It is too large' } } })
  }
})
