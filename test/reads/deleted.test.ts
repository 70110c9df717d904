// GET …/commands/deleted: what is deleted now, for every caller as they could read it, over HTTP, for programs, agents.
import fc from 'fast-check'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { defineFamily, type Grant, memoryStorage, Problem, type Query, type Storage, Type } from '../../lib/index.js'
import { mcp } from '../../lib/mcp/mcp.js'
import { erase, prune } from '../../lib/tools/index.js'
import { call } from '../mcp/app.js'
import { runs } from '../size.js'
import { storages } from '../storages.js'

const toys = defineFamily({
  name: 'toys',
  singular: 'toy',
  fields: Type.Object({
    id: Type.String(), name: Type.String(), region: Type.String(), cost: Type.Optional(Type.Integer())
  }),
  create: ['id', 'name', 'region', 'cost'],
  edit: ['name', 'region'],
  personal: ['name']
})
const fixed = defineFamily({
  name: 'plates',
  singular: 'plate',
  fields: Type.Object({ id: Type.Integer() }),
  create: [],
  remove: false
})

const authorize = ({ headers }: { headers: object }): Grant => {
  const { region, hide } = headers as Record<string, string | undefined>
  return {
    ...region !== undefined && { principal: region, where: [{ field: 'region', op: 'eq', values: [region] }] },
    ...hide !== undefined && { hide: [hide] }
  }
}

async function open (t: Test, storage: Storage) {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(toys, { storage, prefix: '/crm', authorize })
  app.register(toys.rename({ name: 'label' }), { storage, prefix: '/v2', authorize })
  app.register(fixed, { storage, prefix: '/crm' })
  app.register(mcp, { prefix: '/crm' })
  await app.ready()
  const url = '/crm/toys/commands/deleted'
  const read = async (query = '', headers = {}) => await app.inject({ url: url + query, headers })
  const list = async (query = '', headers = {}) => {
    const { items, links } = (await read(query, headers)).json<Page>()
    return { ids: items.map(({ toy }) => toy), items, links }
  }
  return { app, url, read, list }
}

interface Step {
  readonly id: string
  readonly what: 'create' | 'move' | 'remove' | 'restore'
  readonly region: 'north' | 'south'
}

interface Page {
  readonly items: readonly { readonly id: string, readonly toy: string, readonly principal?: string }[]
  readonly links: Readonly<Partial<Record<string, string>>>
}

for (const { name, make } of storages) {
  t.test(`${name}: what is deleted now`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const { app, url, read, list } = await open(t, storage)
    const book = toys.service({ storage })
    for (const id of ['a', 'b', 'c', 'd', 'e']) {
      await book.create({ id, name: `Toy ${id}`, region: 'ab'.includes(id) ? 'north' : 'south', cost: 7 })
    }
    t.strictSame((await list()).ids, [])
    for (const id of ['a', 'b', 'c', 'd']) await book.remove(id, { principal: `who-${id}` })
    t.strictSame((await list()).ids, ['d', 'c', 'b', 'a'], 'newest first')
    await book.restore('c')
    await book.restore('a')
    await book.run('edit', 'a', { region: 'south' })
    await book.remove('a', { principal: 'again' })
    const { ids, items } = await list()
    t.strictSame(ids, ['a', 'd', 'b'], 'restored ones are gone, and what was deleted twice is there once')
    t.match(items[0], {
      action: 'DeleteToy',
      principal: 'again',
      revision: 5,
      changes: { name: { from: 'Toy a' }, region: { from: 'south' } }
    })

    t.test('for callers with conditions, as it was when it was deleted', async t => {
      t.strictSame((await list('', { region: 'north' })).ids, ['b'])
      t.strictSame((await list('', { region: 'south' })).ids, ['a', 'd'])
      t.strictSame((await list('', { region: 'west' })).ids, [])
      t.match((await read('?format=html', { region: 'south' })).body, /Toy a/)
      t.notMatch((await read('?format=html', { region: 'north' })).body, /Toy a/)
    })

    t.test('in pages, whose cursors stay when something comes back', async t => {
      const first = await list('?maxpagesize=1')
      t.strictSame(first.ids, ['a'])
      t.notOk(first.links['prev'])
      const second = (await app.inject(first.links['next'] ?? '')).json<Page>()
      t.strictSame(second.items.map(({ toy }) => toy), ['d'])
      await book.restore('d')
      const third = (await app.inject(second.links['next'] ?? '')).json<Page>()
      t.strictSame(third.items.map(({ toy }) => toy), ['b'])
      t.notOk(third.links['next'])
      const back = (await app.inject(third.links['prev'] ?? '')).json<Page>()
      t.strictSame(back.items.map(({ toy }) => toy), ['a'], 'what came back in between is not there')
      await book.remove('d')
      t.strictSame((await list('?sort=position')).ids, ['b', 'a', 'd'])
      t.strictSame((await list('?principal=who-b')).ids, ['b'])
      for (const query of ['?page=2', '?count=exact', '?sort=name', '?foo=1', '?after=x']) {
        t.equal((await read(query)).statusCode, 400, query)
      }
    })

    t.test('in every representation, and for every caller', async t => {
      t.match((await read('.csv')).body, /^id,toy,action,.*\r\n.*,d,DeleteToy/)
      t.equal((await read('?format=ndjson')).body.trim().split('\n').length, 3)
      t.match((await read('?format=xml')).body, '<toy>d</toy>')
      t.strictSame((await list('?fields=action,revision')).items[0], { action: 'DeleteToy', revision: 4 })
      t.notMatch((await read('', { hide: 'cost' })).body, /cost/)
      const renamed = (await app.inject('/v2/toys/commands/deleted')).json()
      t.match(renamed, { items: [{ changes: { label: { from: 'Toy d' } } }] })
      t.equal((await app.inject('/crm/plates/commands/deleted')).statusCode, 404)
      t.equal((await app.inject({ method: 'POST', url, payload: {} })).statusCode, 405)
      const page = await book.findDeleted({ limit: 2 })
      t.strictSame(page.items.map(({ toy }) => toy), ['d', 'a'])
      const { after = page.next ?? '' } = {}
      t.strictSame((await book.findDeleted({ limit: 2, after })).items.map(({ toy }) => toy), ['b'])
      await t.rejects(book.findDeleted({ page: 2 } as never), { code: 'invalid-query' })
      await t.rejects(fixed.service({ storage }).findDeleted(), /no operation "findDeleted"/)
      const { content } = await call(app, 'toys_deleted', { limit: 1 })
      t.match(content, { items: [{ toy: 'd' }], next: String })
      const next = await call(app, 'toys_deleted', { after: content['next'] as string })
      t.match(next, { content: { items: [{ toy: 'a' }] } })
    })

    t.test('after an erasure, and as far as the log reaches', async t => {
      await erase(storage, [toys], { family: 'toys', id: 'b' })
      const { items } = await list()
      t.match(items.find(({ toy }) => toy === 'b'), { action: 'DeleteToy', changes: { name: { from: 'erased' } } })
      t.equal((await book.restore('b')).item?.name, 'erased')
      t.strictSame((await list()).ids, ['d', 'a'])
      await prune(storage, { before: new Date() })
      t.strictSame((await list()).ids, [])
    })
  })

  t.test(`${name}: the model`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const step: fc.Arbitrary<Step> = fc.record({
      id: fc.constantFrom('a', 'b', 'c', 'd'),
      what: fc.constantFrom('move', 'move', 'remove', 'remove', 'restore'),
      region: fc.constantFrom('north', 'south')
    })
    let [histories, listed] = [0, 0]
    const count = runs({ memory: 200, sqlite: 50 }[name] ?? 20)
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), fc.integer({ min: 1, max: 3 }),
      async (steps, limit) => {
        const regionOf = (region: string): string => `${region} ${histories}`
        histories++
        const book = toys.service({ storage })
        const items = new Map<string, string>()
        // The newest first.
        let gone: (readonly [id: string, region: string])[] = []
        const created = ['a', 'b', 'c', 'd'].map(id => ({ id, what: 'create', region: 'south' } as const))
        for (const { id: letter, what, region } of [...created, ...steps]) {
          const id = `${letter}${histories}`
          const work = {
            create: () => book.create({ id, name: 'n', region: regionOf(region) }),
            move: () => book.run('edit', id, { region: regionOf(region) }),
            remove: () => book.remove(id),
            restore: () => book.restore(id)
          }[what]
          try {
            await work()
          } catch (error) {
            if (!(error instanceof Problem)) throw error
            continue
          }
          const was = gone.find(([each]) => each === id)
          if (what === 'create' || what === 'move') items.set(id, regionOf(region))
          if (what === 'restore' && was !== undefined) {
            items.set(...was as [string, string])
            gone = gone.filter(each => each !== was)
          }
          if (what === 'remove') {
            gone.unshift([id, items.get(id) as string])
            items.delete(id)
          }
        }
        for (const region of ['north', 'south']) {
          const own = toys.service({
            storage, authorize: () => ({ where: [{ field: 'region', op: 'eq', values: [regionOf(region)] }] })
          })
          const expected = gone.filter(([, its]) => its === regionOf(region)).map(([id]) => id)
          const found: string[] = []
          for (let after: string | undefined; ;) {
            const page = await own.findDeleted({ limit, ...after !== undefined && { after } })
            found.push(...page.items.map(({ toy }) => toy as string))
            if (page.next === undefined) break
            t.equal(page.items.length, limit, 'pages are full')
            after = page.next
          }
          t.strictSame(found, expected)
          listed += found.length
        }
      }), { numRuns: count })
    t.ok(listed > count, `${listed} listed`)
  })
}

t.test('what other programs have done', async t => {
  const storage = memoryStorage()
  const book = toys.service({ storage })
  const at = new Date().toISOString()
  for (const id of ['a', 'b']) await book.create({ id, name: 'A', region: 'north' })
  for (const id of ['a', 'b']) await book.remove(id)
  const item = { id: 'a', name: 'A', region: 'south', revision: 7, createdAt: at, updatedAt: at }
  await storage.commit([{ type: 'insert', family: 'toys', item }])
  t.strictSame((await book.findDeleted()).items.map(({ toy }) => toy), ['b'], 'an item that is there')
  const north = toys.service({
    storage, authorize: () => ({ where: [{ field: 'region', op: 'eq', values: ['north'] }] })
  })
  t.equal((await north.log('b')).items.length, 2)
  await t.rejects(north.log('a'), { code: 'not-found' }, 'the present item decides')
})

t.test('a deletion that changed another item is not one of that', async t => {
  const storage = memoryStorage()
  const nodes = defineFamily({
    name: 'nodes',
    singular: 'node',
    fields: Type.Object({ id: Type.String(), size: Type.Integer({ default: 1 }) }),
    create: ['id'],
    remove: {
      with: { root: { family: 'nodes', id: () => 'root' } },
      apply: (_node: unknown, _params: unknown, { items: { root } }: { items: { root: { size: number } } }) =>
        ({ others: { root: { ...root, size: root.size + 1 } } }),
      restore: () => undefined
    } as never
  })
  const book = nodes.service({ storage })
  for (const id of ['root', 'a']) await book.create({ id })
  await book.remove('a')
  await storage.commit([{ type: 'delete', family: 'nodes', id: 'root', expected: 2 }])
  t.strictSame((await book.findDeleted()).items.map(({ node }) => node), ['a'])
  t.equal(await book.can('restore', 'root'), false)
  t.equal(await book.can('restore', 'a'), true)
})

t.test('a page searches a part of a long log', async t => {
  const storage = memoryStorage()
  const searched: Query[] = []
  const counted: Storage = {
    ...storage,
    find: async (family, query, signal) => {
      if (query.where.some(condition => condition.field === 'action')) searched.push(query)
      return await storage.find(family, query, signal)
    }
  }
  const { findText, ...plain } = counted
  const book = toys.service({ storage: plain })
  await book.create({ id: 'a', name: 'A', region: 'north' })
  await book.remove('a')
  // Everything else is of others.
  const at = new Date().toISOString()
  await storage.commit([{
    type: 'insert',
    family: 'commands',
    item: {
      id: 'far',
      family: 'plates',
      target: '1',
      action: 'X',
      outcome: 'done',
      revision: 1,
      createdAt: at,
      updatedAt: at,
      position: 3_000_000
    }
  }])
  const pages: number[] = []
  let after: string | undefined
  do {
    searched.length = 0
    const page = await book.findDeleted(after === undefined ? {} : { after })
    pages.push(page.items.length)
    t.ok(searched.length > 0 && searched.length < 10, `${searched.length} reads`)
    for (const { where } of searched) {
      const bound = (op: 'lt' | 'gt'): number => {
        const values = where.flatMap(each =>
          each.field === 'position' && each.op === op && 'value' in each ? Number(each.value) : [])
        return op === 'lt' ? Math.min(...values) : Math.max(...values)
      }
      const hasRange = where.some(({ field }) => field === 'position') && Number.isFinite(bound('gt'))
      if (hasRange) t.ok(bound('lt') - bound('gt') <= 320_001, 'no more at once')
    }
    after = page.next
  } while (after !== undefined && pages.length < 20)
  t.ok(pages.length > 4 && pages.length < 10, `${pages.length} pages`)
  t.equal(pages.at(-1), 1)
  t.equal(pages.reduce((sum, count) => sum + count), 1)
})
