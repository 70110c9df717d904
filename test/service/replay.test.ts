import { randomUUID } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import t from 'tap'
import { Problem } from '../../lib/core/problems.js'
import type { Storage, Stored } from '../../lib/core/storage/storage.js'
import { deals } from '../../lib/deals/deals.js'
import { defineFamily } from '../../lib/families.js'
import { memoryStorage } from '../../lib/storage/memory/memory-storage.js'
import { dealsApp, home } from '../deals/app.js'
import { type Book, dealAfter, openBook, refusal, testOverStorages } from './book.js'

const principal = 'ann'

interface RunIds {
  readonly command: string
  readonly principal: string
}

/** A storage whose first look for a command finds none, and then, before any item is read, `meanwhile` is done. */
function interrupted (storage: Storage, meanwhile: () => Promise<unknown>): Storage {
  let end = (_done: unknown): void => {}
  const ended = new Promise(resolve => { end = resolve })
  let isLooked = false
  const look = async <T>(family: string, read: () => Promise<T>): Promise<T> => {
    if (family !== 'commands') await ended
    const found = await read()
    if (family === 'commands' && !isLooked) {
      isLooked = true
      end(await meanwhile())
    }
    return found
  }
  return {
    prepare: shape => storage.prepare(shape),
    find: (family, query, signal) => look(family, () => storage.find(family, query, signal)),
    get: (family, id, signal) => look(family, () => storage.get(family, id, signal)),
    commit: changes => storage.commit(changes),
    close: async () => {}
  }
}

testOverStorages(async (t, { book, storage, another }) => {
  t.test('a command is done once under its id, or its key', async t => {
    for (const how of ['command', 'key'] as const) {
      const id = await dealAfter(book)
      const options = { [how]: randomUUID(), principal }
      const first = await book.run('hold', id, { reason: 'a' }, options)
      await book.run('unhold', id)
      const again = await book.run('hold', id, { reason: 'a' }, { ...options, revision: 1 })
      t.match(again, { changed: true, replayed: true, item: { held: false, revision: 3 } }, how)
      t.same(again.command, first.command)
      if (how === 'command') t.equal(first.command.id, options.command)
      const other = await dealAfter(book)
      for (const [what, work] of Object.entries<() => Promise<unknown>>({
        parameters: () => book.run('hold', id, { reason: 'b' }, options),
        operation: () => book.run('complete', id, {}, options),
        item: () => book.run('hold', other, { reason: 'a' }, options),
        deletion: () => book.remove(id, options)
      })) await t.rejects(work(), { name: 'Problem', code: 'id-reused', statusCode: 422 }, `other ${what}`)
      t.match([await book.get(id), await book.get(other)], [{ revision: 3 }, { revision: 1 }])
      await book.remove(id)
      const late = await book.run('hold', id, { reason: 'a' }, options)
      t.match(late, { item: undefined, changed: true, replayed: true }, 'also when the item is gone')
    }
  })

  t.test('a command that ran before is confirmed by the storage, before its result is sent again', async t => {
    const confirmed: unknown[] = []
    const unsure = openBook({
      ...storage,
      async confirm (...[family, id]) {
        confirmed.push([family, id])
        if (confirmed.length > 2) throw new Error('lost')
      }
    })
    const id = await dealAfter(book)
    const run = { operation: 'hold', id, params: { reason: 'a' }, command: randomUUID() } as const
    await unsure.runAll([run], { atomic: true })
    t.strictSame(confirmed, [], 'not the first time')
    const row = ['commands', run.command]
    t.match(await unsure.runAll([run, run], { atomic: true }), [{ replayed: true }, { replayed: true }])
    t.strictSame(confirmed, [row, row])
    t.equal((await refusal(unsure.run('hold', id, run.params, { command: run.command }))).code, 'storage-unavailable')
    const twice = { ...run, command: randomUUID(), id: await dealAfter(book) }
    t.match(await unsure.runAll([twice, twice], { atomic: true }), [{ replayed: false }, { replayed: true }],
      'what is in the same commit need not be')
  })

  t.test('what a failover took back until it is confirmed, and another attempt did again, is what counts', async t => {
    const key = randomUUID()
    const after = await book.create({ name: 'After', price: 1 })
    const made = await book.create({ name: 'Tea', price: 1 }, { key, principal })
    const row = await storage.get('commands', made.command.id as string)
    const unsure = openBook({
      ...storage,
      async confirm () {
        const item = { ...row as Stored, target: after.item.id, result: after.item, revision: 1 }
        await storage.commit([{ type: 'replace', family: 'commands', item, expected: Number(row?.revision) }])
      }
    })
    const again = await unsure.create({ name: 'Tea', price: 1 }, { key, principal })
    t.match(again, { item: { id: after.item.id, name: 'After' }, replayed: true })
  })

  t.test('what a failover took back is not the base of a change, though the item has the same revision', async t => {
    const ways: Readonly<Record<string, (book: Book, id: string) => Promise<unknown>>> = {
      operation: (book, id) => book.run('hold', id, { reason: 'a' }),
      many: (book, id) => book.runAll([{ operation: 'hold', id, params: { reason: 'a' } }], { atomic: true }),
      deletion: (book, id) => book.remove(id)
    }
    for (const [way, run] of Object.entries(ways)) {
      const id = await dealAfter(book)
      let reads = 0
      const takeBack = <T extends Stored | undefined>(family: string, item: T): T =>
        family !== 'deals' || ++reads > 1 ? item : { ...item, price: 7, updatedAt: '2020-01-01T00:00:00.000Z' }
      const before = openBook({
        ...storage,
        get: async (...given) => takeBack(given[0], await storage.get(...given)),
        async find (...given) {
          const { items, ...found } = await storage.find(...given)
          return { ...found, items: items.map(item => takeBack(given[0], item)) }
        }
      })
      await run(before, id)
      t.ok(reads > 1, `${way}: decided again`)
      if (way !== 'deletion') t.match(await book.get(id), { held: true, price: 100, revision: 2 })
    }
  })

  t.test('the id of a new item is not taken by an earlier attempt, which a failover may take back', async t => {
    const rooms = defineFamily({
      name: 'rooms', singular: 'room', fields: Type.Object({ id: Type.String() }), create: ['id']
    })
    const options = { command: randomUUID(), principal }
    await rooms.service({ storage }).create({ id: 'attic' }, options)
    let looks = 0
    const unsure = rooms.service({
      storage: {
        ...storage,
        // It is not there before its item is looked for, nor after that.
        get: async (...given) => given[0] === 'commands' && ++looks <= 4 ? undefined : await storage.get(...given)
      }
    })
    t.match(await unsure.create({ id: 'attic' }, options), { replayed: true })
    t.equal(looks, 6)
    await t.rejects(rooms.service({ storage }).create({ id: 'attic' }, { ...options, command: 'c-other' }),
      { code: 'taken' })
  })

  t.test('conditions of a grant that are none hide nothing', async t => {
    const granted = await dealsApp(storage, { authorize: () => ({ where: [] }) })
    t.teardown(() => granted.close())
    const id = await dealAfter(book)
    const url = `${home}/${id}/commands/${randomUUID()}`
    const payload = { action: 'HoldDeal', params: { reason: 'a' } }
    const run = async () => await granted.inject({ method: 'PUT', url, payload })
    t.equal((await run()).statusCode, 201)
    await book.remove(id)
    t.match(await run(), { statusCode: 200, headers: { 'idempotent-replayed': 'true' } })
  })

  t.test('a creation and a deletion are done once', async t => {
    const key = randomUUID()
    const first = await book.create({ name: 'Tea', price: 1 }, { key, principal })
    const { id } = first.item
    await book.run('hold', id, { reason: 'a' })
    const again = await book.create({ price: 1, name: 'Tea' }, { key, principal })
    t.same(again, { ...first, replayed: true }, 'the item as it was made')
    await t.rejects(book.create({ name: 'Tea', price: 2 }, { key, principal }), { code: 'id-reused' })
    const bobs = await book.create({ name: 'Tea', price: 2 }, { key, principal: 'bob' })
    t.match(bobs, { replayed: false, item: { price: 2 } }, 'a key belongs to its principal')
    const removed = await book.remove(id, { command: key, principal })
    t.same(await book.remove(id, { command: key, principal }), { ...removed, replayed: true })
    await t.rejects(book.remove(id), { code: 'not-found' })
  })

  t.test('a creation that is repeated in a later version has its fields', async t => {
    const fields = Type.Object({ id: Type.Integer(), fee: Type.Integer() })
    const first = defineFamily({ name: 'plans', singular: 'plan', fields, create: ['fee'] })
    const second = first.extend({ fields: Type.Object({ currency: Type.String({ default: 'EUR' }) }) })
    const { item: { id } } = await first.service({ storage }).create({ fee: 1 }, { key: 'k-plan' })
    const book = second.service({ storage })
    const { item, replayed } = await book.create({ fee: 1 }, { key: 'k-plan' })
    t.equal(replayed, true)
    t.strictSame(item, await book.get(id))
  })

  t.test('under an id a refusal is kept, and given again', async t => {
    for (const how of ['command', 'key'] as const) {
      const id = await dealAfter(book, 'hold')
      const options = { [how]: randomUUID(), principal }
      const first = await refusal(book.run('complete', id, {}, options))
      t.equal(first.code, 'wrong-state')
      t.same(first.members, { state: 'held', operation: 'complete', allowed: ['unhold', 'cancel', 'edit'] })
      await book.run('unhold', id)
      const again = await refusal(book.run('complete', id, {}, options))
      t.same(again.document(), first.document(), how)
      const { items } = await book.log(id)
      t.match(items, [{}, {}, { outcome: 'refused', problem: { status: 409 } }, { outcome: 'done' }])
      t.match(await book.get(id), { status: 'open', revision: 3 }, 'a late duplicate does nothing')
    }
  })

  t.test('what changes nothing succeeds', async t => {
    const id = await dealAfter(book)
    const unnamed = await book.run('change-price', id, { newPrice: 100, reason: 'None' })
    t.match(unnamed, { item: { revision: 1 }, command: { outcome: 'unchanged' }, changed: false, replayed: false })
    t.notOk('id' in unnamed.command, 'it is not in the log')
    const command = randomUUID()
    const named = await book.run('unhold', id, {}, { command })
    t.match(named, { command: { id: command, outcome: 'unchanged' }, changed: false, replayed: false })
    t.match(await book.run('unhold', id, {}, { command }), { changed: false, replayed: true })
    t.same((await book.log(id)).items.map(({ id }) => id).slice(1), [command])
  })

  t.test('a command is one and the same by the service and by HTTP', async t => {
    const app = await dealsApp(storage, { authorize: () => ({ principal }) })
    t.teardown(() => app.close())
    const id = await dealAfter(book)
    const [command, key] = [randomUUID(), randomUUID()]
    const params = { reason: 'Papers' }
    const put = async (command: string, { action, params }: { action: string, params: object }) =>
      await app.inject({ method: 'PUT', url: `${home}/${id}/commands/${command}`, payload: { action, params } })
    const post = async (key: string, payload: object) =>
      await app.inject({ method: 'POST', url: `${home}/`, headers: { 'idempotency-key': key }, payload })

    const ours = await book.run('hold', id, params, { command, principal })
    const theirs = await put(command, { action: 'HoldDeal', params })
    t.match(theirs, { statusCode: 200, headers: { 'idempotent-replayed': 'true' } })
    t.match(theirs.json(), ours.command)
    t.equal((await put(command, { action: 'UnholdDeal', params: {} })).statusCode, 422)

    t.equal((await put(key, { action: 'UnholdDeal', params: {} })).statusCode, 201)
    t.match(await book.run('unhold', id, {}, { command: key, principal }), { changed: true, replayed: true })
    for (const other of [{ principal: 'bob' }, {}]) {
      const theirs = await book.run('unhold', id, {}, { command: key, ...other })
      t.match(theirs, { changed: false, replayed: false, command: { id: key } }, 'an id belongs to its principal')
    }
    t.equal((await book.get(id)).revision, 3)

    const fields = { name: 'Tea', price: 5 }
    const { item } = await book.create(fields, { key: `a ${key}`, principal })
    const again = await post(`a ${key}`, fields)
    t.match([again.statusCode, again.headers['idempotent-replayed'], again.json().id], [201, 'true', item.id])
    const posted = await post(`b ${key}`, fields)
    const replayed = await book.create(fields, { key: `b ${key}`, principal })
    t.match(replayed, { replayed: true, item: { id: posted.json().id } })
  })

  t.test('a revision that is not the current one is refused', async t => {
    const id = await dealAfter(book)
    const command = randomUUID()
    for (const revision of [0, 2, -1]) {
      const work = book.run('hold', id, { reason: 'a' }, { revision, command })
      await t.rejects(work, { code: 'precondition-failed', members: { revision: 1 } }, String(revision))
      await t.rejects(book.remove(id, { revision }), { code: 'precondition-failed' })
    }
    t.match(await book.run('hold', id, { reason: 'a' }, { revision: 1, command }), { changed: true, replayed: false })
    t.match(await book.remove(id, { revision: 2 }), { changed: true })
  })

  t.test('a retry that cannot find out whether it was done is not refused', async t => {
    const id = await dealAfter(book)
    const ids = { command: randomUUID(), principal, revision: 1 }
    const hold = (storage: Storage) => openBook(storage).run('hold', id, { reason: 'a' }, ids)
    let isDone = false
    const inner = interrupted(storage, async () => {
      await hold(storage)
      isDone = true
    })
    const failing: Storage = {
      ...inner,
      get: async (family, row, signal) => {
        if (isDone && family === 'commands') throw new Error('The connection was closed')
        return await inner.get(family, row, signal)
      }
    }
    await t.rejects(hold(failing), { code: 'storage-unavailable' })
    t.match(await hold(storage), { changed: true, replayed: true })
  })

  t.test('a problem of the server is thrown as it is, also if the first attempt is committed meanwhile', async t => {
    let failure: Error | undefined
    const watched = defineFamily({
      name: 'meters',
      singular: 'meter',
      fields: Type.Object({ id: Type.String(), text: Type.String() }),
      create: ['text'],
      prepare () { if (failure !== undefined) throw failure }
    })
    for (const each of [new Problem('other', 'broken'), new Problem('other', 'away', { status: 503 })]) {
      failure = undefined
      const ids = { key: randomUUID(), principal }
      const create = (storage: Storage) => watched.service({ storage }).create({ text: 'a' }, ids)
      const late = create(interrupted(storage, async () => {
        await create(storage)
        failure = each
      }))
      t.equal(await refusal(late), each)
      t.match(await create(storage), { replayed: true })
    }
  })

  t.test('a retry whose first attempt is committed while it runs is a replay', async t => {
    const chosen = defineFamily({
      name: 'labels',
      singular: 'label',
      fields: Type.Object({ id: Type.String(), text: Type.String() }),
      create: ['id', 'text']
    })
    type Attempt = (storage: Storage, id: string, ids: RunIds) => Promise<unknown>
    const command = (run: (book: Book, id: string, options: RunIds & { revision: number }) => Promise<unknown>) =>
      async (storage: Storage, id: string, ids: RunIds) => await run(openBook(storage), id, { ...ids, revision: 1 })
    const list = (atomic: boolean) => async (storage: Storage, id: string, { command, principal }: RunIds) => {
      const [first, last] = [{ command, revision: 1 }, { command: `${command}-2` }]
      const done = await openBook(storage).runAll([
        { operation: 'hold', id, params: { reason: 'a' }, ...first }, { operation: 'remove', id, ...last }
      ] as never, { atomic: atomic as true, principal })
      return atomic ? done[1] : (done as unknown as PromiseFulfilledResult<unknown>[])[1]?.value
    }
    const put = (authorize?: () => object) => async (storage: Storage, id: string, { command }: RunIds) => {
      const app = await dealsApp(storage, authorize === undefined ? {} : { authorize })
      t.teardown(() => app.close())
      const headers = { 'if-match': '"1"', 'idempotency-key': command }
      const answer = await app.inject({ method: 'PATCH', url: `${home}/${id}`, headers, payload: { name: 'b' } })
      return { changed: answer.statusCode === 200, replayed: answer.headers['idempotent-replayed'] === 'true' }
    }
    const attempts: Readonly<Record<string, Attempt>> = {
      'an operation': command((book, id, ids) => book.run('hold', id, { reason: 'a' }, ids)),
      'a deletion': command((book, id, ids) => book.remove(id, ids)),
      'a creation': async (storage, id, { command: key, principal }) =>
        await chosen.service({ storage }).create({ id, text: 'a' }, { key, principal }),
      'an atomic list': list(true),
      'a list': list(false),
      'an update': put(),
      'an update under conditions': put(() => ({ where: [{ field: 'price', op: 'gte', value: 0 }] }))
    }
    for (const [name, attempt] of Object.entries(attempts)) {
      for (const more of [[], ['unhold', 'complete']]) {
        const id = await dealAfter(book)
        const ids = { command: randomUUID(), principal }
        let first: unknown
        const again = await attempt(interrupted(storage, async () => {
          first = await attempt(storage, id, ids)
          // Then the state does not allow it any more.
          for (const operation of more) await book.run(operation, id).catch(() => {})
        }), id, ids)
        t.match(first, { changed: true, replayed: false }, name)
        t.match(again, { changed: true, replayed: true }, `${name} again, then ${more.join()}`)
      }
    }
  })

  t.test('many at once', async t => {
    const books = [book, ...(another === undefined ? [] : [openBook(another())])]
    const bookOf = (index: number) => books[index % books.length] as typeof book
    const fifty = Array.from({ length: 50 }, (_, index) => index)

    const id = await dealAfter(book)
    await Promise.all(fifty.map(index => bookOf(index).run('change-price', id, { newPrice: index, reason: 'a' })))
    const { items } = await book.log(id, { limit: 100 })
    t.same(items.map(({ revision }) => revision), [...fifty, 50].map(index => index + 1), 'each is a change of its own')
    t.equal((await book.get(id)).revision, 51)

    const command = randomUUID()
    const hold = (index: number) => bookOf(index).run('hold', id, { reason: 'a' }, { command })
    const same = await Promise.all(fifty.map(hold))
    t.equal(same.filter(({ replayed }) => !replayed).length, 1, 'one does it')
    t.ok(same.every(({ changed, item }) => changed && item?.revision === 52))

    const contested = randomUUID()
    const settled = await Promise.allSettled(fifty.map(index =>
      bookOf(index).run('cancel', id, { amercement: index, reason: 'a' }, { command: contested })))
    const lost = settled.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
    t.equal(lost.length, 49, 'one wins')
    t.ok(lost.every(({ reason }) => reason.code === 'id-reused'))
    t.match(await book.get(id), { status: 'cancelled', revision: 53 })

    const key = randomUUID()
    const made = await Promise.all(fifty.map(index => bookOf(index).create({ name: key, price: 1 }, { key })))
    t.equal(new Set(made.map(({ item }) => item.id)).size, 1)
    t.equal((await book.find(`name=${key}`, { count: true })).total, 1)
  })

  t.test('integers are counted', async t => {
    const notes = defineFamily({
      name: 'notes',
      singular: 'note',
      fields: Type.Object({ id: Type.Integer(), text: Type.String() }),
      create: ['text']
    })
    const first = notes.service({ storage })
    const second = another === undefined ? first : notes.service({ storage: another() })
    const made = await Promise.all(Array.from({ length: 20 }, (_, index) =>
      (index % 2 === 0 ? first : second).create({ text: String(index) })))
    const ids = made.map(({ item }) => item.id).sort((a, b) => a - b)
    t.equal(ids[0], 1)
    t.equal(new Set(ids).size, 20, 'none is given twice, though some may be passed over where two processes race')
    const last = ids.at(-1) as number
    t.match(await first.get(last), { id: last })
    await t.rejects(first.get(String(last) as never), { code: 'not-found' }, 'text is no integer')
    for (const id of [1.5, NaN, Infinity, 2 ** 53]) await t.rejects(first.get(id), { code: 'not-found' }, String(id))
    await first.remove(last)
    t.equal((await first.create({ text: 'a' })).item.id, last + 1, 'what is gone is not given again')
  })
})

t.test('who finds what was run before', async t => {
  const storage = memoryStorage()
  const owned = deals.extend({ fields: Type.Object({ owner: Type.String() }), create: ['owner'] })
  const notes = defineFamily({
    name: 'notes', singular: 'note', fields: Type.Object({ id: Type.Integer() }), create: []
  })
  const all = owned.service({ storage })
  const guarded = owned.service({
    storage,
    authorize: ({ principal }, { id }) =>
      id === undefined && principal === 'eve' ? {} : { where: [{ field: 'owner', op: 'eq', values: ['ann'] }] }
  })
  const make = async (owner: string) => (await all.create({ name: 'Tea', price: 1, owner })).item.id
  const [hers, his, gone] = [await make('ann'), await make('bob'), await make('ann')]
  const reason = { reason: 'a' }
  const commands: readonly (readonly [command: string, id: string, principal?: string])[] = [
    ['hers', hers, 'ann'], ['his', his, 'ann'], ['gone', gone, 'ann'], ['nobody-hers', hers], ['nobody-gone', gone]
  ]
  for (const [command, id, principal] of commands) {
    await all.run('hold', id, reason, { command, ...(principal && { principal }) })
    await all.run('unhold', id)
  }
  await all.remove(gone)
  await notes.service({ storage }).create({}, { key: 'k-note', principal: 'ann' })
  await notes.service({ storage }).remove(1, { command: 'note', principal: 'ann' })
  const reused = (id: string) => ({ code: 'id-reused', message: new RegExp(`"?${id}"?`) })
  const missing = { code: 'not-found' }
  const found = { replayed: true, changed: true }
  const rows: readonly (readonly [command: string, id: string, principal: string | undefined, expected: object])[] = [
    ['hers', hers, 'ann', found],
    ['his', his, 'ann', missing],
    ['his', hers, 'ann', reused('his')],
    ['gone', gone, 'ann', found],
    ['gone', hers, 'ann', reused('gone')],
    ['nobody-hers', hers, undefined, found],
    ['nobody-gone', gone, undefined, missing],
    ['note', hers, 'ann', reused('note')]
  ]
  for (const [command, id, principal, expected] of rows) {
    const run = guarded.run('hold', id, reason, { command, ...(principal && { principal }) })
    const answer = await run.catch((problem: unknown) => problem)
    t.match(answer, expected, `${command} by ${principal}`)
    t.equal((answer as { replayed?: boolean }).replayed === true, expected === found)
  }
  t.match(await all.run('hold', gone, reason, { command: 'nobody-gone' }), found, 'where nothing is hidden')
  const read: unknown[] = []
  const watched: Storage = {
    ...storage,
    get (family, id, signal) {
      read.push([family, id])
      return storage.get(family, id, signal)
    }
  }
  const clerk = notes.service({ storage: watched, authorize: () => ({ where: [{ field: 'id', op: 'gt', value: 0 }] }) })
  await t.rejects(clerk.remove(1, { command: 'nobody-hers' }), { code: 'id-reused' })
  t.strictSame(read, [['notes', 1], ['commands', 'nobody-hers']], 'the id of a deal is none of a note')
  const key = await refusal(guarded.run('hold', hers, reason, { key: 'k-note', principal: 'ann' }))
  t.equal(key.code, 'id-reused')
  t.notMatch(key.message, /[0-9a-f]{8}-/, 'a derived id is not shown')
  const creation = { name: 'Tea', price: 1, owner: 'bob' }
  await all.create(creation, { key: 'k', principal: 'ann' })
  await t.rejects(guarded.create(creation, { key: 'k', principal: 'ann' }), { code: 'id-reused' }, 'what is hidden')
  const odd = owned.service({ storage, makeId: () => 'undefined' })
  await odd.create(creation, { key: 'odd', principal: 'ann' })
  await t.rejects(guarded.create(creation, { key: 'odd', principal: 'ann' }), { code: 'id-reused' }, 'of any id')
})
