import assert from 'node:assert/strict'
import fc from 'fast-check'
import Fastify from 'fastify'
import t from 'tap'
import { defineFamily, memoryStorage, type Storage, Type } from '../../lib/index.js'
import { runs } from '../size.js'

const words = (name: string, action: string) =>
  ({ name, verb: name, participle: `${name}-done`, noun: `${name}-list`, action })

const shelves = defineFamily({
  name: 'shelves',
  singular: 'shelf',
  fields: Type.Object({ id: Type.Integer(), room: Type.Integer({ default: 3 }) }),
  create: ['room']
})

/** Whatever commands may have in common: other items, references, unique values, and ids that are counted. */
const boxes = defineFamily({
  name: 'boxes',
  singular: 'box',
  fields: Type.Object({
    id: Type.String(),
    amount: Type.Integer({ default: 0 }),
    label: Type.Optional(Type.String()),
    inside: Type.Optional(Type.String()),
    shelf: Type.Optional(Type.Integer())
  }),
  create: ['id', 'label', 'inside', 'shelf'],
  edit: ['label', 'inside', 'shelf'],
  unique: [['label']],
  references: { inside: 'boxes', shelf: shelves },
  remove: {
    with: { shelf: 'shelf' },
    apply: (_box, _params, { items: { shelf } }) =>
      ({ others: { shelf: shelf && { ...shelf, room: shelf.room + 1 } } })
  },
  operations: {
    add: {
      ...words('add', 'AddToBox'),
      params: Type.Object({ amount: Type.Integer() }),
      allowed: ({ amount }, params) => amount + (params?.amount ?? 0) <= 5 || 'It is full',
      apply: (box, { amount }) => ({ ...box, amount: box.amount + amount })
    },
    move: {
      ...words('move', 'MoveBox'),
      params: Type.Object({ to: Type.String() }),
      with: { to: { family: 'boxes', id: ({ to }) => to } },
      apply: (box, _params, { items: { to } }) => to === undefined
        ? box
        : { item: { ...box, amount: 0 }, others: { to: { ...to, amount: to.amount + box.amount } } }
    },
    put: {
      ...words('put', 'PutBox'),
      params: Type.Object({ shelf: Type.Integer() }),
      with: { shelf: { family: shelves, id: ({ shelf }) => shelf } },
      allowed: (_box, _params, { items: { shelf } }) => shelf === undefined || shelf.room > 0 || 'There is no room',
      apply: (box, params, { items: { shelf } }) => shelf === undefined || box.shelf === params.shelf
        ? box
        : { item: { ...box, shelf: params.shelf }, others: { shelf: { ...shelf, room: shelf.room - 1 } } }
    },
    build: {
      ...words('build', 'BuildShelf'),
      params: Type.Object({}),
      creates: { shelf: shelves },
      apply: box => ({ item: { ...box, amount: box.amount + 1 }, created: { shelf: { room: 1 } } })
    }
  }
})

const box = fc.constantFrom('a', 'b', 'c', 'd')
const shelf = fc.constantFrom(1, 2, 3)
const label = fc.constantFrom('x', 'y')
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const on = (action: string, params: Record<string, fc.Arbitrary<unknown>> = {}) =>
  fc.record({ box, action: fc.constant(action), params: fc.record(params) })
const commands = fc.array(fc.oneof(
  on('AddToBox', { amount: fc.nat(3) }),
  on('MoveBox', { to: box }),
  on('PutBox', { shelf }),
  on('BuildShelf'),
  on('DeleteBox'),
  on('EditBox', { label }),
  on('EditBox', { inside: fc.option(box, { nil: null }) }),
  on('EditBox', { shelf: fc.option(shelf, { nil: null }) }),
  fc.record({
    action: fc.constant('CreateBox'),
    params: fc.record({ id: box, label: maybe(label), inside: maybe(box), shelf: maybe(shelf) })
  }),
  fc.record({ action: fc.constant('CreateShelf'), params: fc.constant({}) }),
  fc.record({ shelf, action: fc.constant('DeleteShelf') })
), { minLength: 2, maxLength: 10 })

/** A storage that takes its time, each call another. */
function slow (storage: Storage, random: () => number): Storage {
  const wait = async (): Promise<void> => {
    for (let turns = Math.floor(random() * 4); turns > 0; turns--) await new Promise(resolve => setImmediate(resolve))
  }
  return {
    ...storage,
    async get (...asked) { await wait(); return await storage.get(...asked) },
    async find (...asked) { await wait(); return await storage.find(...asked) },
    async commit (...asked) { await wait(); await storage.commit(...asked) }
  }
}

/** To make it takes longer than a case, so all cases have one: each with an empty storage. */
async function start () {
  const app = Fastify()
  let storage: Storage
  let made = 0
  const options = {
    storage: () => storage, clock: () => new Date(Date.UTC(2030)), makeCommandId: () => `made-${++made}`
  }
  app.register(boxes, options)
  app.register(shelves, options)
  await app.ready()
  const send = async (list: readonly object[]): Promise<object[]> =>
    (await app.inject({ method: 'POST', url: '/rest/commands', payload: { commands: list } })).json().items
  return {
    async begin (empty: Storage): Promise<void> {
      storage = empty
      await send([{ action: 'CreateShelf', params: {} }, { action: 'CreateShelf', params: { room: 1 } }])
      await send(['a', 'b'].map(id => ({ action: 'CreateBox', params: { id } })))
    },
    send,
    read: async () => [(await app.inject('/boxes')).json().items, (await app.inject('/shelves')).json().items],
    close: () => app.close()
  }
}

/** Without ids that were made, and the position in the list. */
function plain (value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replace(/made-\d+/g, 'made').replace(/\/commands\/\d+/g, ''))
}

t.test('commands of a list have the outcome that they have one after the other', async () => {
  const [app, oracle] = [await start(), await start()]
  await fc.assert(fc.asyncProperty(commands, fc.infiniteStream(fc.nat(999)), async (list, delays) => {
    const next = (): number => Number(delays.next().value) / 1000
    await app.begin(slow(memoryStorage(), next))
    await oracle.begin(memoryStorage())
    const expected = []
    for (const each of list) expected.push(...await oracle.send([each]))
    assert.deepEqual(plain(await app.send(list)), plain(expected))
    assert.deepEqual(plain(await app.read()), plain(await oracle.read()))
  }), { numRuns: runs(200) })
  await Promise.all([app.close(), oracle.close()])
})

t.test('commands of different items are committed side by side', async t => {
  let [running, most, commits, expected] = [0, 0, 0, 64]
  const storage = memoryStorage()
  let open: () => void = () => {}
  let gate = new Promise<void>(resolve => { open = resolve })
  const counting: Storage = {
    ...storage,
    async commit (changes) {
      most = Math.max(most, ++running)
      commits++
      // No more come.
      if (running === expected) setTimeout(open, 50)
      await gate
      await storage.commit(changes)
      running--
    }
  }
  const plainBoxes = defineFamily({
    name: 'boxes',
    singular: 'box',
    fields: Type.Object({ id: Type.String(), size: Type.Integer() }),
    create: ['id', 'size'],
    edit: ['size']
  })
  const book = plainBoxes.service({ storage: counting })
  const ids = Array.from({ length: 200 }, (_, index) => `box-${index}`)
  await book.runAll(ids.map(id => ({ operation: 'create', params: { id, size: 1 } })))
  t.equal(most, 64, 'as many as may')
  most = 0
  expected = 20
  gate = new Promise(resolve => { open = resolve })
  const twice = [...ids.slice(0, 20), ...ids.slice(0, 20)]
  const edits = await book.runAll(twice.map((id, index) => ({ operation: 'edit', id, params: { size: 2 + index } })))
  t.equal(most, 20, 'those of one item one after the other')
  t.ok(edits.every(({ status }) => status === 'fulfilled'))
  t.equal((await book.get('box-0')).size, 22)
  t.equal(commits, 240)
  most = 0
  const counted = shelves.service({ storage: counting })
  const made = await counted.runAll(Array.from({ length: 120 }, () => ({ operation: 'create', params: {} })))
  const numbers = made.map(each => each.status === 'fulfilled' ? (each.value.item as { id: number }).id : 0)
  t.strictSame(numbers, Array.from(numbers, (_, index) => index + 1), 'counted ids have the order of the list')
})
