import t from 'tap'
import { getFamily } from '../../lib/core/family/family.js'
import { type Committed, readMakers } from '../../lib/core/service/caller.js'
import { makeCallers } from '../../lib/http/plugin/callers.js'
import type { FamilyShape, Storage } from '../../lib/index.js'
import { decimal, defineFamily, memoryStorage, Problem, Type } from '../../lib/index.js'

const cardsPlugin = defineFamily({
  name: 'cards', singular: 'card', fields: Type.Object({ id: Type.String(), price: decimal({ scale: 2 }) })
})
const cards = getFamily(cardsPlugin)
const wider = getFamily(cardsPlugin.extend({ fields: Type.Object({ note: Type.Optional(Type.String()) }) }))

type Options = Parameters<typeof makeCallers>[1]

/** The caller of a request, and what is logged. */
async function openCaller (options: Partial<Options> = {}, more: object = {}) {
  const logged: unknown[] = []
  const request = {
    raw: { socket: {} },
    log: { error: (details: object, message: string) => { logged.push([message, details]) } },
    ...more
  }
  const open = await makeCallers(cards, { storage: memoryStorage(), ...options }, readMakers(cards, {}), 1000, {
    other: () => undefined,
    shows: its => ({ seen: its === request ? 'this' : 'another' })
  })
  return { logged, request, open: open.bind(undefined, request), caller: open(request) }
}

t.test('a caller knows its request', async t => {
  const { caller } = await openCaller()
  t.strictSame(caller.shows?.(), { seen: 'this' })
  t.strictSame([caller.isGuarded, caller.committed, caller.trace], [false, undefined, undefined])
  const { caller: guarded } = await openCaller({ authorize: () => ({ principal: 'ann' }) })
  t.equal(guarded.isGuarded, true)
  t.strictSame(await guarded.authorize({ family: 'cards', action: 'list', id: undefined, params: {} }),
    { principal: 'ann' })
})

t.test('what does not end a request is in the log of the host', async t => {
  const { caller, logged } = await openCaller()
  const cause = new Error('no disk')
  const problem = new Problem('storage-unavailable', 'x', { cause })
  const bare = new Problem('not-found', 'x')
  for (const error of [cause, problem, bare]) caller.report?.(error, 'said')
  t.strictSame(logged, [cause, cause, bare].map(err => ['said', { err }]))

  const told: unknown[] = []
  const change = { family: 'cards', action: 'EditCard' } as unknown as Committed
  const { caller: telling, request, logged: failures } = await openCaller({
    async onCommitted (...given) {
      told.push(given)
      throw cause
    }
  })
  telling.committed?.(change)
  await new Promise(resolve => { setImmediate(resolve) })
  t.strictSame(told, [[change, request]])
  t.strictSame(failures, [['onCommitted failed', { err: cause, family: 'cards', action: 'EditCard' }]])
})

t.test('a storage is prepared for the fields that rules need, once', async t => {
  for (const isChosen of [false, true]) {
    const inner = memoryStorage()
    const prepared: string[] = []
    const storage: Storage = {
      ...inner,
      async prepare (shape: FamilyShape) {
        if (shape.name === 'cards') prepared.push(shape.fields.some(({ name }) => name === 'note') ? 'wider' : 'own')
        await inner.prepare(shape)
      }
    }
    const { open } = await openCaller({ storage: isChosen ? () => storage : storage })
    const found: unknown[] = []
    for (const [needed, expected] of [
      [undefined, ['own']], [cards, ['own']], [wider, ['own', 'own', 'wider']], [wider, ['own', 'own', 'wider']],
      [undefined, ['own', 'own', 'wider']]
    ] as const) {
      found.push(await open(needed).storage())
      t.strictSame(prepared, expected, `${needed?.shape.fields.length} ${isChosen}`)
    }
    t.equal(new Set(found).size, 1)
    if (!isChosen) t.equal(open().storage(), found[0], 'without waiting')
  }
  for (const none of [undefined, null, {}, 'memory']) {
    const { caller } = await openCaller({ storage: () => none as never })
    await t.rejects(async () => await caller.storage(), { code: 'FST_DEALBOOK_NO_STORAGE' })
  }
})

t.test('steps are traced where the host traces the request', async t => {
  const spans: unknown[] = []
  const context = {}
  const tracer = {
    async startActiveSpan (name: string, options: object, its: object, work: (span: object) => Promise<unknown>) {
      spans.push([name, options, its === context])
      return await work({ end: () => { spans.push('end') } })
    }
  }
  for (const [what, opentelemetry, isTraced] of [
    ['no function', undefined, false], ['nothing', () => undefined, false], ['no tracer', () => ({ context }), false],
    ['no context', () => ({ tracer }), false], ['a context that is null', () => ({ tracer, context: null }), false],
    ['both', () => ({ tracer, context }), true]
  ] as const) {
    const { caller } = await openCaller({}, { opentelemetry })
    t.equal(await caller.trace?.('decide', async () => 5), 5, what)
    t.strictSame(spans.splice(0), isTraced ? [['dealbook decide', {}, true], 'end'] : [], what)
  }
})
