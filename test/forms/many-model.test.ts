import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Storage } from '../../lib/index.js'
import { defineFamily, memoryStorage, Problem, Type } from '../../lib/index.js'
import { isLong } from '../size.js'
import { storages } from '../storages.js'

const named = {
  name: 'boxes',
  singular: 'box',
  fields: Type.Object({
    id: Type.String(),
    amount: Type.Integer({ default: 0 }),
    label: Type.Optional(Type.String()),
    seen: Type.Optional(Type.Integer())
  })
}

const add = {
  name: 'add',
  verb: 'add',
  participle: 'added',
  noun: 'additions',
  action: 'AddToBox',
  params: Type.Object({ amount: Type.Integer() }),
  allowed: ({ amount }: { amount: number }, params?: { amount: number }) =>
    amount + (params?.amount ?? 0) <= 5 || 'It is full',
  apply: <T extends { amount: number }>(box: T, { amount }: { amount: number }): T =>
    ({ ...box, amount: box.amount + amount })
}

// Without rules that need anything but the item.
const plainBoxes = defineFamily({ ...named, create: ['id'], edit: ['label'], operations: { add } })

// Rules that depend on the item, on another one, on the number of all, and on a label that no two have.
const boxes = defineFamily({
  ...named,
  create: ['id'],
  edit: ['label'],
  unique: [['label']],
  prepare: async (_asked, { find }) => ({ total: (await find('boxes', '', { count: true, limit: 1 })).total }),
  operations: {
    add,
    move: {
      name: 'move',
      verb: 'move',
      participle: 'moved',
      noun: 'moves',
      action: 'MoveBox',
      params: Type.Object({ to: Type.String() }),
      with: { to: { family: 'boxes', id: ({ to }: { readonly to: string }) => to } },
      apply: (box, _params, { items: { to } }) => {
        const { amount } = to as unknown as { readonly amount: number }
        return { item: { ...box, amount: 0 }, others: { to: { ...to, amount: amount + box.amount } } }
      }
    },
    look: {
      name: 'look',
      verb: 'look',
      participle: 'looked',
      noun: 'looks',
      action: 'LookAtBox',
      params: Type.Object({}),
      apply: (box, _params, { facts }) => ({ ...box, seen: (facts as { readonly total: number }).total })
    }
  }
})

type Sent = Readonly<Record<string, unknown>> & { readonly operation: string }

/** Any command, as a program may send it. */
interface Book {
  run (operation: string, id: unknown, params?: unknown, options?: object): Promise<object>
  create (params: unknown, options?: object): Promise<object>
  remove (id: unknown, options?: object): Promise<object>
  runAll (commands: readonly Sent[], options?: { readonly atomic?: boolean }): Promise<object[]>
  find (): Promise<{ readonly items: readonly object[] }>
  log (id: string): Promise<{ readonly items: readonly object[] }>
}

/** Times and ids are counted, so that two that did the same have the same. */
function open (family: typeof boxes | typeof plainBoxes, storage: Storage): Book {
  let made = 0
  const clock = (): Date => new Date(Date.UTC(2030))
  return family.service({ storage, clock, makeCommandId: () => `made-${++made}` }) as unknown as Book
}

const id = fc.constantFrom('a', 'b', 'a', 'b', 'a', 'b', 'c')
// To itself, it would be refused before any is run.
const moves = [['a', 'b'], ['b', 'a'], ['c', 'a'], ['a', 'c']].map(([id, to]) =>
  ({ operation: 'move', id, params: { to } }))
const given = fc.record({
  // Some are sent twice.
  command: fc.oneof(fc.constant(undefined), fc.constantFrom('c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 'c8')),
  revision: fc.oneof(
    { weight: 15, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 4 }) }
  )
})
const adding = fc.record({ operation: fc.constant('add'), id, params: fc.record({ amount: fc.nat(3) }) })
const labelling = fc.record({
  operation: fc.constant('edit'), id, params: fc.record({ label: fc.constantFrom('x', 'y', 'z', null) })
})
const misspelt = fc.record({ operation: fc.constant('add'), id, params: fc.constant({ amuont: 1 }) })
const looking = fc.record({ operation: fc.constant('look'), id })
const removing = fc.record({ operation: fc.constant('remove'), id })
const creating = fc.record({ operation: fc.constant('create'), params: fc.record({ id }) })

const sendAny = (isPlain: boolean): fc.Arbitrary<Sent> => fc.tuple(fc.oneof(
  { weight: 12, arbitrary: adding },
  { weight: isPlain ? 0 : 4, arbitrary: fc.constantFrom(...moves) },
  { weight: isPlain ? 0 : 8, arbitrary: looking },
  { weight: 4, arbitrary: labelling },
  { weight: 2, arbitrary: removing },
  { weight: 1, arbitrary: misspelt },
  { weight: 3, arbitrary: creating }
), given).map(([command, options]) => {
  const all = { ...command, ...command.operation === 'create' ? { key: options.command } : options }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Sent
})

/** One by one, as single calls. */
async function runOne (book: Book, { operation, id, params, ...options }: Sent): Promise<object> {
  if (operation === 'create') return await book.create(params, options)
  return operation === 'remove' ? await book.remove(id, options) : await book.run(operation, id, params, options)
}

async function state (book: Book): Promise<unknown> {
  const logs = []
  for (const id of ['a', 'b', 'c']) logs.push((await book.log(id).catch(() => ({ items: [] }))).items)
  return { items: (await book.find()).items, logs }
}

/** Without ids that were made, and items of replays: they are shown as they are after all. */
function plain (value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (name, member) => {
    if (member?.replayed === true) return { ...member, item: undefined }
    return name === 'id' && /^made-/.test(String(member)) ? 'made' : member
  }))
}

function nameProblem (error: unknown): unknown {
  if (!(error instanceof Problem)) throw error
  return [error.code, error.message.replace(/^\/commands\/\d+(?:\/params)?(: )?/, '')]
}

for (const { name, make } of storages) {
  t.test(`${name}: many are as one after the other`, async t => {
    const numRuns = isLong ? name === 'memory' ? 1500 : 200 : name === 'memory' ? 100 : 40
    let done = 0
    const lists = (isPlain: boolean) => fc.record({
      isPlain: fc.constant(isPlain),
      before: fc.array(sendAny(isPlain), { maxLength: 4 }),
      commands: fc.array(sendAny(isPlain), { minLength: 1, maxLength: 6 })
    })
    await fc.assert(fc.asyncProperty(
      fc.oneof(lists(true), lists(false)), fc.boolean(),
      async ({ isPlain, before, commands }, atomic) => {
        const { storage, dispose } = await make()
        try {
          const family = isPlain ? plainBoxes : boxes
          const [book, oracle] = [open(family, storage), open(family, memoryStorage())]
          for (const each of [book, oracle]) {
            await each.create({ id: 'a' })
            await each.create({ id: 'b' })
            for (const command of before) await runOne(each, command).catch(nameProblem)
          }
          const unchanged = plain(await state(oracle))
          const expected: unknown[] = []
          for (const command of commands) {
            expected.push(await runOne(oracle, command).then(done => ({ item: undefined, ...done }), nameProblem))
          }
          if (!atomic) {
            const results = await book.runAll(commands) as PromiseSettledResult<object>[]
            const shown = results.map(result =>
              result.status === 'fulfilled' ? result.value : nameProblem(result.reason))
            assert.deepEqual(plain(shown), plain(expected))
            assert.deepEqual(plain(await state(book)), plain(await state(oracle)))
            return
          }
          // All are read before any is run.
          const misread = commands.findIndex(({ params }) => Object.hasOwn(params ?? {}, 'amuont'))
          const failed = misread === -1 ? expected.findIndex(Array.isArray) : misread
          const result = await book.runAll(commands, { atomic }).catch((error: Problem) => error)
          if (result instanceof Error) {
            const index = Number(/^\/commands\/(\d+)/.exec(result.message)?.[1])
            // A label that is given up in the same commit cannot be taken in it.
            const isMoved = result.code === 'taken' && (failed === -1 || index < failed)
            if (!isMoved) assert.deepEqual([index, nameProblem(result)], [failed, expected[failed]])
            assert.deepEqual(plain(await state(book)), unchanged, 'nothing was done')
          } else {
            assert.equal(failed, -1)
            done++
            const items = (list: readonly unknown[]) => list.map(each => (each as { command: unknown }).command)
            assert.deepEqual(plain(items(result)), plain(items(expected)))
            assert.deepEqual(plain(await state(book)), plain(await state(oracle)))
          }
        } finally {
          await dispose()
        }
      }
    ), { numRuns })
    // Of few lists it may be none.
    t.ok(numRuns < 100 || done > 0, `${done} of ${numRuns} lists were done in one commit`)
  })
}
