import type { TProperties, TSchema } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import { insert, query, remove, replace, shape, thing, where } from '../../lib/conformance/fixture.js'
import { makeComparator, matcher } from '../../lib/core/storage/conditions.js'
import type { Change, FamilyShape, Field, Scalar, Storage } from '../../lib/core/storage/storage.js'
import { defineFamily } from '../../lib/index.js'
import { storages } from '../storages.js'

/** Parcels with one more field, or without: each a version of the family. */
function parcels (more: TProperties = {}, create: readonly string[] = Object.keys(more)) {
  return defineFamily({
    name: 'parcels',
    singular: 'parcel',
    fields: Type.Object({ id: Type.Integer(), stamps: Type.Integer({ default: 0 }), ...more }),
    create: create as never[],
    operations: {
      stamp: {
        name: 'stamp',
        verb: 'stamp',
        participle: 'stamped',
        noun: 'stampings',
        action: 'StampParcel',
        params: Type.Object({}),
        apply: parcel => ({ ...parcel, stamps: parcel.stamps + 1 })
      }
    },
    attributes: { fields: ['stamps'], read: () => ({ operation: 'stamp', params: {} }) }
  })
}

type Parcels = ReturnType<typeof parcels>

/** The item with this id, without what the service adds; by id and in a page. */
async function read (t: Test, storage: Storage, family: Parcels, id: number): Promise<object> {
  const service = family.service({ storage })
  const { createdAt, updatedAt, revision, ...item } = await service.get(id) as Record<string, unknown>
  t.match((await service.find(`id=${id}`)).items, [item])
  return item
}

/** What a field of each kind has by default, and something else. */
const kinds: Record<string, readonly [schema: TSchema, value: unknown, other: unknown]> = {
  integer: [Type.Integer(), 7, 8],
  number: [Type.Number(), 0.5, 1.25],
  string: [Type.String(), 'it\'s "so"', 'so'],
  enumeration: [Type.Union([Type.Literal('red'), Type.Literal('blue')]), 'red', 'blue'],
  boolean: [Type.Boolean(), true, false],
  date: [Type.String({ format: 'date' }), '2026-01-31', '2026-02-01'],
  'date-time': [Type.String({ format: 'date-time' }), '2026-01-31T12:00:00.000Z', '2026-01-31T13:00:00.000Z'],
  json: [Type.Object({ a: Type.Array(Type.Integer()) }), { a: [1] }, { a: [] }]
}

// Once, and not for each storage: to define a version takes longer than most of what is then done with it.
const plain = parcels()
// The same in another process.
const plainAgain = parcels()
const versions = Object.entries(kinds).map(([kind, [schema, value, other]]) => ({
  kind,
  value,
  other,
  withDefault: parcels({ added: { ...schema, default: value } }),
  withOptional: parcels({ added: Type.Optional(schema) }),
  withRequired: parcels({ added: schema }),
  withRequiredAgain: parcels({ added: schema }),
  changed: parcels({ changed: schema }),
  changedAgain: parcels({ changed: schema })
}))

// Kinds that are kept alike.
const alike = [['string', 'enumeration']]

// Each of them is valid before, and not after.
const stricter: Record<string, readonly [before: TSchema, after: TSchema, value?: unknown]> = {
  'a shorter text': [Type.String(), Type.String({ maxLength: 3 }), 'four'],
  'a greater minimum': [Type.Integer(), Type.Integer({ minimum: 10 }), 9],
  'fewer values': [Type.Union([Type.Literal('a'), Type.Literal('b')]), Type.Union([Type.Literal('a')]), 'b'],
  'a pattern': [Type.String(), Type.String({ pattern: '^x' }), 'y'],
  'required members': [Type.Object({}), Type.Object({ a: Type.Integer() }), {}],
  'required, which was optional': [Type.Optional(Type.String()), Type.String()]
}
const stricterVersions = Object.entries(stricter).map(([change, [before, after, value]]) =>
  ({ change, value, earlier: parcels({ field: before }), later: parcels({ field: after }) }))
const withInteger = parcels({ weight: Type.Integer({ default: 0 }) })
const withNumber = parcels({ weight: Type.Number({ default: 0 }) })
const withNote = parcels({ note: Type.String({ default: 'none' }) })

for (const { name, make } of storages) {
  /** Parcel 1 as a version had it, and the storage as another process opens it. */
  const store = async (t: Test, family: Parcels, members: object = {}): Promise<Storage> => {
    const { storage, another, dispose } = await make()
    t.teardown(dispose)
    await family.service({ storage }).create(members as never)
    return another === undefined ? storage : another()
  }

  for (const { kind, value, other, ...version } of versions) {
    const { withDefault, withOptional } = version

    t.test(`${name}: a field with a default is added (${kind})`, async t => {
      const storage = await store(t, plain)
      const service = withDefault.service({ storage })
      await service.create({ added: other } as never)
      t.strictSame(await read(t, storage, withDefault, 1), { id: 1, stamps: 0, added: value })
      if (kind !== 'json') {
        const find = async (query: string) => (await service.find(query)).items.map(({ id }) => id)
        t.strictSame(await find(`added=${encodeURIComponent(String(value))}`), [1])
        t.strictSame(await find(`added.ne=${encodeURIComponent(String(value))}`), [2])
        t.strictSame(await find('sort=added'), value as string < (other as string) ? [1, 2] : [2, 1])
      }
      t.match((await service.run('stamp', 1)).item, { stamps: 1, added: value })
      // A version that knows nothing of it goes on.
      await plainAgain.service({ storage }).run('stamp', 1)
      await plainAgain.service({ storage }).create({} as never)
      t.strictSame(await read(t, storage, withDefault, 1), { id: 1, stamps: 2, added: value })
      t.strictSame(await read(t, storage, withDefault, 3), { id: 3, stamps: 0, added: value })
    })

    t.test(`${name}: an optional field is added, and becomes one with a default (${kind})`, async t => {
      const storage = await store(t, plain)
      t.strictSame(await read(t, storage, withOptional, 1), { id: 1, stamps: 0 })
      await withOptional.service({ storage }).run('stamp', 1)
      await withOptional.service({ storage }).create({ added: other } as never)
      t.strictSame(await read(t, storage, withDefault, 1), { id: 1, stamps: 1, added: value })
      t.strictSame(await read(t, storage, withDefault, 2), { id: 2, stamps: 0, added: other })
      t.match((await withDefault.service({ storage }).run('stamp', 1)).item, { stamps: 2, added: value })
    })

    t.test(`${name}: a required field without a default is added (${kind})`, async t => {
      const storage = await store(t, plain)
      const boot = async (family: Parcels) => {
        const app = Fastify()
        app.register(family, { storage })
        try {
          await app.ready()
        } finally {
          await app.close()
        }
      }
      await t.rejects(boot(version.withRequired), {
        code: 'FST_DEALBOOK_NEEDS_DEFAULT',
        message: /^parcels: existing items lack the field "added", which is required\. Give it a default, or/
      })
      await plainAgain.service({ storage }).remove(1)
      await boot(version.withRequiredAgain)
    })

    t.test(`${name}: ${kind} becomes something else`, async t => {
      const storage = await store(t, version.changed, { changed: value })
      let refused = 0
      for (const { kind: after, changed: later } of versions) {
        const fits = after === kind || alike.some(kinds => kinds.includes(after) && kinds.includes(kind))
        if (fits || (kind === 'integer' && after === 'number')) continue
        refused++
        await t.rejects(later.service({ storage }).get(1), {
          code: name === 'memory' ? 'FST_DEALBOOK_FIELD_KIND' : 'FST_DEALBOOK_COLUMN_TYPE',
          message: /"changed"/
        }, after)
      }
      t.ok(refused >= 5)
      const unchanged = await version.changedAgain.service({ storage }).get(1)
      t.match(unchanged, { changed: value }, 'and nothing has changed')
    })
  }

  t.test(`${name}: an integer becomes a number`, async t => {
    const storage = await store(t, withInteger, { weight: 3 })
    const later = withNumber
    const service = later.service({ storage })
    for (const weight of [0.1, 3.5, 2]) await service.create({ weight } as never)
    t.match((await service.find('sort=-weight')).items, [3.5, 3, 2, 0.1].map(weight => ({ weight })))
    t.strictSame((await service.find('weight=3')).items.map(({ id }) => id), [1])
    t.strictSame((await service.find('weight.gt=2&weight.lt=3.5')).items.map(({ id }) => id), [1])
    t.strictSame(await read(t, storage, later, 2), { id: 2, stamps: 0, weight: 0.1 })
    t.match((await service.run('stamp', 1)).item, { weight: 3, stamps: 1 })
    t.strictSame(await read(t, storage, later, 1), { id: 1, stamps: 1, weight: 3 })
  })

  for (const { change, value, earlier, later } of stricterVersions) {
    t.test(`${name}: a field becomes stricter: ${change}`, async t => {
      const members = value === undefined ? {} : { field: value }
      const storage = await store(t, earlier, members)
      t.strictSame(await read(t, storage, later, 1), { id: 1, stamps: 0, ...members })
      const service = later.service({ storage })
      t.match((await service.run('stamp', 1)).item, { stamps: 1, ...members })
      const app = Fastify()
      app.register(later, { storage })
      t.teardown(() => app.close())
      const put = { method: 'PUT', url: '/parcels/1', payload: { stamps: 2, ...members } } as const
      t.match((await app.inject(put)).json(), { id: 1, stamps: 2, ...members })
      t.match((await app.inject('/parcels/1.html')).body, /stamp/, 'people can see it')
      if (value === undefined) return
      const others = { ...put, payload: { ...put.payload, field: value === 9 ? 8 : { b: 1 } } }
      t.match((await app.inject(others)).json(), { status: 400, errors: [{ pointer: /^\/field/ }] })
      t.match((await app.inject({ method: 'POST', url: '/parcels', payload: members })).json(), { status: 400 })
    })
  }

  t.test(`${name}: a field is taken away, and comes back`, async t => {
    const full = withNote
    const storage = await store(t, full, { note: 'fragile' })
    t.strictSame(await read(t, storage, plain, 1), { id: 1, stamps: 0 })
    await plainAgain.service({ storage }).run('stamp', 1)
    await plainAgain.service({ storage }).create({} as never)
    t.strictSame(await read(t, storage, full, 1), { id: 1, stamps: 1, note: 'fragile' })
    t.strictSame(await read(t, storage, full, 2), { id: 2, stamps: 0, note: 'none' })
  })
}

const show = (box: object | undefined) => {
  const { id, size, rank, revision } = box as Record<string, unknown>
  return [id, size, rank, revision]
}

/** Boxes whose fields were optional before they were required. */
const boxes = (more: TSchema) => defineFamily({
  name: 'boxes',
  singular: 'box',
  fields: Type.Object({
    id: Type.Integer(), label: Type.String({ default: '' }), size: more, rank: more, shelf: more
  }),
  create: ['label', 'size', 'rank', 'shelf'] as never[],
  edit: ['label'] as never[],
  indexes: ['rank', ['label', 'shelf']] as never[],
  operations: {
    grow: {
      name: 'grow',
      verb: 'grow',
      participle: 'grown',
      noun: 'growths',
      action: 'GrowBox',
      params: Type.Object({}),
      apply: box => ({ ...box, size: Number(box.size) + 1, rank: Number(box.rank) + 1 })
    }
  }
})
const [oldBoxes, newBoxes] = [boxes(Type.Optional(Type.Integer())), boxes(Type.Integer({ default: 5 }))]
type Boxes = ReturnType<typeof newBoxes.service>

/** The ids of a list, read page by page, each of one item. */
async function walk (service: Boxes, query: string): Promise<unknown[]> {
  const ids: unknown[] = []
  for (let after: string | undefined; ids.length < 20;) {
    const { items, next } = await service.find(query, { limit: 1, ...after !== undefined && { after } })
    ids.push(...items.map(({ id }) => id))
    if (next === undefined) break
    after = next
  }
  return ids
}

// Without an index; with one; with one by another field first.
const counted = ['size', 'rank', 'shelf']

/** By what lists show: the ids of items in each order and with each filter. */
async function compareLists (t: Test, service: Boxes, when: string): Promise<void> {
  const all = (await service.find('sort=id')).items as unknown as Record<string, number>[]
  const sortBy = (field: string, sign: number) => all.toSorted((a, b) =>
    ((a[field] as number) - (b[field] as number)) * sign || (a.id as number) - (b.id as number))
  const tests: readonly (readonly [query: (field: string) => string, holds: (value: number) => boolean])[] = [
    [field => `${field}=5`, value => value === 5],
    [field => `${field}=5&${field}=3`, value => value === 5 || value === 3],
    [field => `${field}=7`, value => value === 7],
    [field => `${field}.ne=5`, value => value !== 5],
    [field => `${field}.gte=5`, value => value >= 5],
    [field => `or.${field}.lt=6&or.${field}=9`, value => value < 6 || value === 9]
  ]
  for (const field of counted) {
    for (const [label, only] of [['', all], ['&label=a', all.filter(({ label }) => String(label) === 'a')]] as const) {
      for (const [sort, sign] of [[field, 1], [`-${field}`, -1]] as const) {
        const sorted = sortBy(field, sign).filter(item => only.includes(item)).map(({ id }) => id)
        t.strictSame(await walk(service, `sort=${sort}${label}`), sorted, `${when}: ${sort}${label}`)
      }
      for (const [write, holds] of tests) {
        const query = `${write(field)}${label}`
        const ids = only.filter(item => holds(item[field] as number)).map(({ id }) => id)
        const { items, total } = await service.find(query, { count: true })
        t.strictSame([items.map(({ id }) => id), total], [ids, ids.length], `${when}: ${query}`)
      }
    }
  }
  const byBoth = all.toSorted((a, b) => String(a.label).localeCompare(String(b.label)) ||
    (a.shelf as number) - (b.shelf as number) || (a.id as number) - (b.id as number)).map(({ id }) => id)
  t.strictSame(await walk(service, 'sort=label,shelf'), byBoth, `${when}: along an index by another field first`)
  const found = await service.find('label.regex=.&rank=5')
  t.strictSame(found.items.map(({ id }) => id),
    all.filter(({ label, rank }) => String(label) !== '' && rank === 5).map(({ id }) => id), `${when}: a search`)
}

for (const { name, make } of storages) {
  t.test(`${name}: an old process writes items without a field that is required by now`, async t => {
    const { storage, another = () => storage, dispose } = await make()
    t.teardown(dispose)
    const now = newBoxes.service({ storage: another() })
    const create = async (service: Boxes, label: string, value: number | undefined) =>
      await service.create({ label, ...Object.fromEntries(counted.map(field => [field, value])) } as never)
    await create(now, 'a', 7)
    const before = oldBoxes.service({ storage }) as unknown as Boxes
    for (const [label, value] of [['a', undefined], ['a', 3], ['b', undefined], ['b', 9]] as const) {
      await create(before, label, value)
    }
    const list = async (query: string) => (await now.find(query)).items.map(show)
    const all = [[1, 7, 7, 1], [2, 5, 5, 1], [3, 3, 3, 1], [4, 5, 5, 1], [5, 9, 9, 1]]
    t.strictSame(await list(''), all)
    t.strictSame(show(await now.get(2)), all[1])
    await compareLists(t, now, 'as written')
    t.strictSame(show((await now.run('edit' as never, 2, { label: 'c' } as never)).item), [2, 5, 5, 2])
    await compareLists(t, now, 'one edited')
    t.strictSame(show((await now.run('grow', 4)).item), [4, 6, 6, 2], 'rules get the default')
    t.strictSame(await list(''), [[1, 7, 7, 1], [2, 5, 5, 2], [3, 3, 3, 1], [4, 6, 6, 2], [5, 9, 9, 1]])
    t.match(await oldBoxes.service({ storage }).get(2), { size: 5, rank: 5, shelf: 5 }, 'the edit wrote the defaults')
    const app = Fastify()
    t.teardown(() => app.close())
    app.register(newBoxes, { storage: another() })
    const { items } = (await app.inject('/boxes')).json()
    t.strictSame(items.map(show), await list(''), 'as text too')
  })
}

// The default, something less and something more.
const defaults: Record<string, readonly [field: Omit<Field, 'name' | 'optional'>, ...values: readonly Scalar[]]> = {
  integer: [{ kind: 'integer' }, 5, 4, 6],
  number: [{ kind: 'number' }, 0.5, -1.25, 1e21],
  decimal: [{ kind: 'decimal', scale: 2 }, '5.00', '4.50', '6.00'],
  short: [{ kind: 'string', maxLength: 20 }, 'it\'s \\"so"', 'a', 'z'],
  long: [{ kind: 'string' }, `it${'s'.repeat(300)}`, 'it', `it${'s'.repeat(300)}o`],
  enumeration: [{ kind: 'string', values: ['blue', 'green', 'red'] }, 'green', 'blue', 'red'],
  boolean: [{ kind: 'boolean' }, true, false, true],
  date: [{ kind: 'date' }, '2026-01-31', '2025-12-31', '2026-02-01'],
  dateTime: [{ kind: 'date-time' }, '2026-01-31T12:00:00.000Z', '2026-01-31T11:59:59.999Z', '2026-02-01T00:00:00.000Z']
}
const allKinds = (isOld: boolean, indexes: readonly string[][]) => shape('goods', 'integer',
  Object.entries(defaults).map(([name, [field, value]]) =>
    ({ name, ...field, optional: isOld, ...!isOld && { default: value } })), indexes)
const byOne = Object.keys(defaults).map(name => [name])

const people = shape('people', 'integer', [])
const pets = (owner: Partial<Field>) => ({
  ...shape('pets', 'integer', [{ name: 'owner', kind: 'integer', optional: true, ...owner }]),
  references: { owner: 'people' }
})
const seats = (row: Partial<Field>) => ({
  ...shape('seats', 'integer', [{ name: 'row', kind: 'integer', optional: true, ...row }]), unique: [['row']]
})
const five = { optional: false, default: 5 }
// An index by another field first, and of a long text.
const slots = (isOld: boolean) => shape('slots', 'integer', [
  { name: 'row', kind: 'integer', optional: false },
  { name: 'place', kind: 'integer', optional: isOld, ...!isOld && { default: 5 } },
  { name: 'note', kind: 'string', optional: isOld, ...!isOld && { default: 'none' } }
], [['row', 'place'], ['row', 'note']])

for (const { name, make } of storages) {
  /** The storages of a process with these shapes, and of an old one, which starts last. */
  const start = async (t: Test, now: readonly FamilyShape[], before: readonly FamilyShape[]) => {
    const { storage, another = () => storage, dispose } = await make()
    t.teardown(dispose)
    const old = another()
    for (const each of now) await storage.prepare(each)
    for (const each of before) await old.prepare(each)
    return { storage, old, another }
  }

  t.test(`${name}: an old process leaves out indexed fields of every kind`, async t => {
    const { storage, old } = await start(t, [allKinds(false, byOne)], [allKinds(true, byOne)])
    const makeItem = (id: number, at: number) =>
      thing(id, Object.fromEntries(Object.entries(defaults).map(([field, values]) => [field, values[at]])))
    await old.commit(insert('goods', makeItem(1, 2), makeItem(2, 3), thing(3)))
    for (const [field, [, value, less, more]] of Object.entries(defaults)) {
      const compare = makeComparator([{ field, descending: false }])
      const shown = [makeItem(1, 2), makeItem(2, 3), makeItem(3, 1)].sort(compare)
      for (const conditions of [
        [], [where(field, 'eq', value)], [where(field, 'eq', value, more)], [where(field, 'ne', more)],
        [where(field, 'gte', value)], [where(field, 'gt', less), where(field, 'lte', value)],
        [where(field, 'null', true)]
      ]) {
        const { items } = await storage.find('goods', query({ where: conditions, sort: [field] }))
        t.strictSame(items.map(({ id }) => id), shown.filter(matcher(conditions)).map(({ id }) => id), field)
      }
    }
  })

  // The memory storage has no other process.
  t.test(`${name}: the next start fills every indexed field`, { skip: name === 'memory' }, async t => {
    const { old, another } = await start(t, [slots(false)], [slots(true)])
    await old.commit(insert('slots', thing(1, { row: 1 }), thing(2, { row: 1, place: 2, note: 'x' })))
    t.strictSame((await old.get('slots', 1))?.place, undefined)
    await another().prepare(slots(false))
    t.match(await old.get('slots', 1), { place: 5, note: 'none' })
    t.match(await old.get('slots', 2), { place: 2, note: 'x' })
  })

  t.test(`${name}: an item that is referred to by default cannot be deleted`, async t => {
    const { storage, old } = await start(t, [people, pets(five)], [people, pets({})])
    await old.commit([...insert('people', thing(4), thing(5)), ...insert('pets', thing(1))])
    t.strictSame((await storage.get('pets', 1))?.owner, 5)
    await t.rejects(storage.commit([remove('people', 5)]), { name: 'ConstraintError', rule: 'in-use', other: 'pets' })
    await storage.commit([remove('people', 4)])
    await storage.commit([remove('people', 5), remove('pets', 1)])
    t.strictSame((await storage.find('people', query())).items, [])
  })

  // The memory storage has no other process: it refuses the second item.
  t.test(`${name}: items that have the same unique value by default`, { skip: name === 'memory' }, async t => {
    const { storage, old, another } = await start(t, [seats(five)], [seats({})])
    await storage.commit(insert('seats', thing(1, { row: 5 })))
    await old.commit(insert('seats', thing(2)))
    const current = await storage.get('seats', 2)
    await t.rejects(storage.commit([{ ...replace('seats', thing(2, { row: 5 }, 2)), current } as Change]), {
      name: 'ConstraintError', rule: 'unique', fields: ['row']
    }, 'an edit writes the default')
    await t.rejects(another().prepare(seats(five)), { code: 'FST_DEALBOOK_NOT_UNIQUE', message: /row.* 1, 2/ })
    await storage.commit([remove('seats', 1)])
    await another().prepare(seats(five))
    t.strictSame((await old.get('seats', 2))?.row, 5, 'the start writes it too')
  })
}

const nullable = parcels({ note: Type.Union([Type.String(), Type.Null()], { default: 'none' }) })
const withoutNull = parcels({ note: Type.Optional(Type.String()) })

for (const { name, make } of storages) {
  t.test(`${name}: null stays null beside a version without null and default`, async t => {
    const { storage, another = () => storage, dispose } = await make()
    t.teardown(dispose)
    const service = nullable.service({ storage })
    await service.create({ note: null } as never)
    await service.create({} as never)
    await withoutNull.service({ storage }).create({} as never)
    const notes = async (family: Parcels, storage: Storage) =>
      (await family.service({ storage }).find('')).items.map(item => (item as { note?: unknown }).note ?? null)
    t.strictSame(await notes(withoutNull, storage), [null, 'none', null])
    // An absent value may be the default there.
    t.strictSame((await notes(nullable, another())).slice(0, 2), [null, 'none'])
  })
}
