import { randomUUID } from 'node:crypto'
import t from 'tap'
import { ConstraintError, defineFamily, memoryStorage, Problem, type Storage, Type } from '../../lib/index.js'

const words = (verb: string) => ({ name: verb, verb, participle: `${verb}-ed`, noun: `${verb}s`, action: `Do${verb}` })
const lines = defineFamily({
  name: 'lines',
  singular: 'line',
  fields: Type.Object({ id: Type.String(), size: Type.Integer() }),
  create: ['size']
})
const sizes: unknown[] = []
const line = { line: { family: lines, id: ({ line }: { line: string }) => line } }
const orders = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object({ id: Type.String(), size: Type.Integer(), note: Type.Optional(Type.String()) }),
  create: ['id', 'size'],
  edit: ['size', 'note'],
  unique: [['size']],
  async prepare (_asked, { find }) {
    const { items, total } = await find(lines, '', { sort: 'id', count: true })
    sizes.push([...items.map(({ id, size }) => `${id}${size}`), total].join(' '))
  },
  operations: {
    take: {
      ...words('take'),
      params: Type.Object({ line: Type.String() }),
      with: line,
      apply: (order, _params, { items: { line } }) => ({ ...order, note: String(line.size) })
    },
    give: {
      ...words('give'),
      params: Type.Object({ line: Type.String() }),
      with: line,
      apply: (order, _params, { items: { line } }) =>
        ({ item: { ...order, note: 'given' }, others: { line: { ...line, size: order.size } } })
    },
    split: {
      ...words('split'),
      params: Type.Object({}),
      creates: { line: lines },
      apply: order => ({ item: { ...order, note: 'split' }, created: { line: { size: order.size } } })
    }
  }
})

t.test('commands of one commit use other items, which those before have read, changed or created', async t => {
  const asked: unknown[] = []
  const inner = memoryStorage()
  const storage: Storage = {
    ...inner,
    find (family, query) {
      asked.push([family, query.count])
      return inner.find(family, query)
    }
  }
  const ids = ['m', 'm', 'n', 'o']
  const commandIds: string[] = []
  const book = orders.service({
    storage,
    makeId: () => ids.shift() as string,
    makeCommandId: () => commandIds.shift() ?? randomUUID()
  })
  const names = ['a', 'b', 'c']
  const shelf = lines.service({ storage, makeId: () => names.shift() as string })
  for (const [index, id] of [...names].entries()) {
    await shelf.create({ size: index })
    await book.create({ id, size: 5 + index })
  }
  const use = (operation: 'take' | 'give', id: string) => ({ operation, id, params: { line: 'a' } }) as const
  const split = (id: string) => ({ operation: 'split', id }) as const
  const rename = (id: string, note: string) => ({ operation: 'edit', id, params: { note } }) as const
  // What each finds, and the lines afterwards.
  for (const [what, commands, found, after] of [
    ['read twice', [use('take', 'a'), use('take', 'b')], ['a0 b1 c2 3', 'a0 b1 c2 3'], 'a0 b1 c2'],
    ['an order is no line', [rename('b', 'x'), rename('c', 'x')], ['a0 b1 c2 3', 'a0 b1 c2 3'], 'a0 b1 c2'],
    ['read, then changed', [use('take', 'a'), use('give', 'b')], ['a0 b1 c2 3', 'a0 b1 c2 3'], 'a6 b1 c2'],
    ['changed, then read', [use('give', 'a'), use('take', 'b')], ['a6 b1 c2 3', 'a5 b1 c2 3'], 'a5 b1 c2'],
    ['changed twice', [use('give', 'b'), use('give', 'a')], ['a5 b1 c2 3', 'a6 b1 c2 3'], 'a5 b1 c2'],
    // An id that the host makes twice is a conflict, after which it is decided again.
    ['created', [split('a'), split('b')],
      ['a5 b1 c2 3', 'a5 b1 c2 m5 4', 'a5 b1 c2 3', 'a5 b1 c2 n5 4'], 'a5 b1 c2 n5 o6']
  ] as const) {
    sizes.length = 0
    await book.runAll(commands, { atomic: true })
    t.strictSame(sizes, found, what)
    t.equal((await shelf.find('', { sort: 'id' })).items.map(({ id, size }) => `${id}${size}`).join(' '), after, what)
  }
  asked.length = 0
  await book.runAll([rename('a', 'z'), rename('b', 'z')], { atomic: true })
  t.strictSame(asked, [['orders', false], ['lines', true], ['lines', true]],
    'what no command has changed is read as it is, and a unique value that stays is not looked for')
  commandIds.push('k', 'k', 'l', 'm')
  const done = await book.runAll([rename('a', 'x'), rename('b', 'x')], { atomic: true })
  t.strictSame(done.map(({ command }) => command.id), ['l', 'm'], 'none takes the place of another in the log')
})

t.test('a rule of the database names the last command of its item, unless all were done meanwhile', async t => {
  const inner = memoryStorage()
  let error: ConstraintError | undefined
  let meanwhile: (() => Promise<unknown>) | undefined
  const book = orders.service({
    storage: {
      ...inner,
      async commit (changes) {
        const thrown = error
        await meanwhile?.()
        if (thrown !== undefined) throw thrown
        await inner.commit(changes)
      }
    }
  })
  for (const [index, id] of ['a', 'b'].entries()) await book.create({ id, size: index })
  const rename = (id: string, note: string, command: string) =>
    ({ operation: 'edit', id, params: { note }, command }) as const
  const commands = [rename('a', 'x', 'c-1'), rename('b', 'x', 'c-2'), rename('b', 'y', 'c-3'), rename('a', 'y', 'c-4')]
  const run = async (list: readonly ReturnType<typeof rename>[]) => await book.runAll(list, { atomic: true })
    .catch(({ code, errors }) => [code, errors?.[0]?.pointer])
  await run(commands.slice(0, 1))
  for (const [family, id, pointer] of [
    ['orders', 'a', '/commands/3/params/note'], ['orders', 'b', '/commands/2/params/note'],
    ['orders', 'c', '/note'], ['lines', 'a', undefined]
  ] as const) {
    error = new ConstraintError(family, id, 'value', { fields: ['note'] })
    t.strictSame(await run(commands), ['constraint', pointer], `${family} ${id}`)
  }
  meanwhile = async () => {
    error = meanwhile = undefined
    await orders.service({ storage: inner }).runAll(commands.slice(1), { atomic: true })
  }
  t.match(await run(commands), commands.map(() => ({ replayed: true, changed: true })))
})

t.test('a refusal names its command, a failure does not', async t => {
  const refusals: unknown[] = []
  const shelf = lines.service({
    storage: memoryStorage(),
    authorize () { throw refusals[0] }
  })
  const create = { operation: 'create', params: { size: 1 } } as const
  for (const [status, pointer] of [
    [400, '/commands/0'], [499, '/commands/0'], [500, undefined], [503, undefined]
  ] as const) {
    refusals[0] = new Problem('other', 'Not now', { status })
    for (const atomic of [true, false]) {
      const running = (shelf.runAll([create], { atomic }) as Promise<unknown[]>).then(([settled]) => settled)
      const { reason } = await running.catch((reason: unknown) => ({ reason })) as { reason: Problem }
      t.strictSame([reason.statusCode, reason.message, reason.errors?.map(flaw => 'pointer' in flaw && flaw.pointer)],
        [status, pointer === undefined ? 'Not now' : `${pointer}: Not now`, pointer && [pointer]])
      if (pointer === undefined) t.equal(reason, refusals[0])
    }
  }
  refusals[0] = new Error('no answer')
  await t.rejects(shelf.runAll([create], { atomic: true }), refusals[0] as Error)
  t.strictSame(await shelf.runAll([create]), [{ status: 'rejected', reason: refusals[0] }])
})

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.String(), text: Type.String() }),
  create: ['id', 'text'],
  edit: ['text'],
  operations: {
    close: {
      ...words('close'),
      params: Type.Object({}),
      allowed: note => !note.text.endsWith('closed'),
      apply: note => ({ ...note, text: `${note.text}, closed` })
    }
  }
})

t.test('a refusal names its command also where each is for itself', async t => {
  const book = notes.service({ storage: memoryStorage() })
  await book.create({ id: 'a', text: 'x' })
  const close = { operation: 'close', id: 'a' } as const
  const [done, refused] = await book.runAll([close, close])
  t.match([done, refused], [{ status: 'fulfilled' }, { status: 'rejected', reason: { code: 'wrong-state' } }])
  t.match((refused as PromiseRejectedResult).reason, { message: /^\/commands\/1: / })
})

t.test('what one commit reads, confirms and writes', async t => {
  const steps: string[] = []
  const inner = memoryStorage()
  const storage: Storage = {
    ...inner,
    async get (family, id) {
      steps.push(`get ${family} ${id}`)
      return await inner.get(family, id)
    },
    async find (family, query) {
      const [first] = query.where
      steps.push(`find ${family} ${first?.op === 'eq' ? String(first.values) : first?.op}`)
      return await inner.find(family, query)
    },
    async confirm (family, id) { steps.push(`confirm ${family} ${id}`) },
    async commit (changes) {
      steps.push(`commit ${changes.map(({ type, family }) => `${type} ${family}`).join()}`)
      await inner.commit(changes)
    }
  }
  let made = 0
  const book = notes.service({
    storage,
    makeCommandId: () => `own-${++made}`
  })
  for (const id of ['a', 'b']) await book.create({ id, text: 'x' }, { command: `c-${id}` })
  const edit = (id: string, text: string, command?: string) =>
    ({ operation: 'edit', id, params: { text }, ...command !== undefined && { command } }) as const
  const create = (id: string) => ({ operation: 'create', params: { id, text: 'x' } }) as const
  for (const [what, commands, expected] of [
    ['known ids', [edit('a', 'y', 'c-1'), edit('b', 'y')], [
      'find notes a,b', 'find commands c-1',
      'commit replace notes,insert commands,replace notes,insert commands'
    ]],
    ['once more', [edit('a', 'y', 'c-1')], [
      'find notes a', 'find commands c-1', 'confirm commands c-1', 'get commands c-1'
    ]],
    ['twice', [edit('a', 'z', 'c-2'), edit('a', 'z', 'c-2')], [
      'find notes a', 'find commands c-2', 'commit replace notes,insert commands'
    ]],
    ['created, then edited', [create('c'), edit('c', 'y')], [
      'find notes c', 'find commands notes', 'commit insert notes,insert commands,insert commands'
    ]]
  ] as const) {
    steps.length = 0
    await book.runAll(commands, { atomic: true })
    t.strictSame(steps, expected, what)
  } const { confirm, ...plain } = storage
  const again = await notes.service({ storage: plain }).runAll([edit('a', 'y', 'c-1')], { atomic: true })
  t.match(again, [{ replayed: true }], 'from a storage that cannot confirm')
})
