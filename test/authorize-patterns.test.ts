import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { RE2Set } from 're2js'
import t from 'tap'
import { ContainedText, Pattern } from '../lib/core/storage/patterns.js'
import type { Condition } from '../lib/index.js'
import { deals, memoryStorage, Problem } from '../lib/index.js'
import { everyRoute } from './authorization/routes.js'
import { anyStorage } from './storages.js'

const refuse = () => { throw new Problem('unauthorized', 'Who are you?') }

t.test('nothing is read as a pattern, compiled or kept for who is refused, on every route', async t => {
  const { app, routes } = await everyRoute({ storage: memoryStorage(), authorize: refuse })
  t.teardown(() => app.close())
  const compiled = t.capture(RE2Set.prototype, 'add', RE2Set.prototype.add)
  let refused = 0
  const reads = routes.filter(({ method }) => ['GET', 'HEAD'].includes(method))
  for (const [index, { method, url }] of reads.entries()) {
    for (const accept of ['application/json', 'text/html', 'text/csv']) {
      const path = url.replace(':extension', 'json').replaceAll(/:\w+/g, '1')
      const query = `?id.regex=a${index}&id.regex=${encodeURIComponent('(?i)(\\pL\\pN?){1000}')}`
      const { statusCode } = await app.inject({ method: method as 'GET', url: path + query, headers: { accept } })
      if (statusCode === 401) refused++
    }
  }
  t.ok(refused > reads.length, `${refused} were refused`)
  t.strictSame(compiled(), [])
})

t.test('patterns of a list are not compiled for who is refused, however many requests there are', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(deals, { storage: memoryStorage(), version: 'v1', authorize: refuse })
  const compiled = t.capture(RE2Set.prototype, 'add', RE2Set.prototype.add)
  for (let n = 0; n < 199; n++) {
    const { statusCode } = await app.inject(`/rest/v1/deals?name.regex=refused${n}`)
    t.equal(statusCode, 401)
  }
  const book = deals.service({ storage: memoryStorage(), authorize: refuse })
  await t.rejects(book.find('name.regex=refused'), { code: 'unauthorized' })
  await t.rejects(book.find([{ field: 'name', op: 'regex', patterns: ['refused'] }]), { code: 'unauthorized' })
  t.strictSame(compiled(), [])
})

t.test('of many patterns in one request, as many are compiled as a query may have', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(deals, { storage: memoryStorage(), version: 'v1' })
  const compiled = t.capture(RE2Set.prototype, 'add', RE2Set.prototype.add)
  for (const pattern of ['(?i)(\\pL\\pN?){1000}', '(?i)(\\pL\\pN?){3}']) {
    const parameters = Array.from({ length: 55 }, (_, n) => `id.regex=${encodeURIComponent(`${pattern}${n}`)}`)
    const before = process.memoryUsage().rss
    const { statusCode } = await app.inject(`/rest/v1/deals?${parameters.join('&')}`)
    t.equal(statusCode, 400)
    t.ok(process.memoryUsage().rss - before < 100e6)
    t.ok(compiled().length <= 5)
  }
})

const owned = deals.extend({ fields: Type.Object({ owner: Type.String() }), create: ['owner'] })
const grants: Record<string, Condition> = {
  'by value': { field: 'owner', op: 'eq', values: ['ann'] },
  'by alternatives': {
    op: 'any',
    of: [[{ field: 'owner', op: 'has', texts: ['ANN'] }], [{ field: 'owner', op: 'eq', values: ['nobody'] }]]
  },
  'by a pattern': { field: 'owner', op: 'regex', patterns: ['^ann$', `^${'x?'.repeat(2000)}$`] }
}

for (const { name, make } of anyStorage) {
  for (const [kind, condition] of Object.entries(grants)) {
    t.test(`${name}: a client's pattern meets nothing that the grant excludes ${kind}`, async t => {
      const { storage, dispose } = await make()
      t.teardown(dispose)
      const app = Fastify()
      t.teardown(() => app.close())
      const home = '/rest/v1/deals'
      app.register(owned, {
        storage,
        version: 'v1',
        authorize: ({ headers }) => headers.trusted === 'yes' ? undefined : { where: [condition] }
      })
      const ids: Record<string, string[]> = { ann: [], bob: [] }
      for (const n of Array(4).keys()) {
        for (const owner of ['ann', 'bob']) {
          const payload = { name: `${owner === 'ann' ? 'open' : 'secret'} ${n} ${'a'.repeat(500)}`, price: n, owner }
          const made = await app.inject({ method: 'POST', url: home, payload, headers: { trusted: 'yes' } })
          ids[owner]?.push(made.json().id)
        }
      }
      const searched = t.capture(Pattern.prototype, 'test', Pattern.prototype.test)
      const contained = t.capture(ContainedText.prototype, 'test', ContainedText.prototype.test)
      const listTexts = () => [...searched(), ...contained()].map(({ args: [text] }) => text)

      const lists = [
        'format=json', 'format=html', 'format=csv', 'format=ndjson&fields=name', 'format=json&sort=-price&count=exact',
        'format=json&sort=name&page=2&maxpagesize=1', 'format=json&owner.ne=x'
      ].map(query => `${home}?${query}`)
      const search = async (url: string, pattern: string, status: number): Promise<void> => {
        const { statusCode } = await app.inject(`${url}&name.regex=${encodeURIComponent(pattern)}`)
        t.equal(statusCode, status, url)
        const texts = listTexts()
        t.ok(texts.some(text => text.startsWith('open')), 'it was matched')
        t.notOk(texts.some(text => text.startsWith('secret')), `${url}: ${pattern}`)
      }
      const named = '/query/deals-by-status/open?format=json'
      for (const url of [...lists, named]) await search(url, 'e', 200)
      for (const [url, status] of [[lists[0], 200], [lists[4], 200], [named, 404]] as [string, number][]) {
        await search(url, '(?:[a-m]?.){60}!', status)
      }

      for (const query of ['name.has=E', 'or.name.has=zzz&or.name.regex=e', 'or.price.lt=0&or.name.has=E']) {
        t.equal((await app.inject(`${home}?${query}`)).json().items.length, 4, query)
        const texts = listTexts()
        t.ok(texts.some(text => text.startsWith('open')), 'it was searched')
        t.notOk(texts.some(text => text.startsWith('secret')), query)
      }

      const book = owned.service({ storage, authorize: () => ({ where: [condition] }) })
      await book.find('name.regex=e')
      await book.find([{ field: 'name', op: 'regex', patterns: ['e'] }])
      t.notOk(listTexts().some(text => text.startsWith('secret')), 'the service')

      const [own, other] = [ids.ann?.[0] as string, ids.bob?.[0] as string]
      t.equal((await app.inject(`${home}/${other}/commands?target.regex=.&action.regex=.`)).statusCode, 400)
      t.equal((await app.inject(`${home}/${other}/commands?action.regex=Create`)).statusCode, 404)
      t.notOk(listTexts().includes('CreateDeal'), 'nor its log')
      t.equal((await app.inject(`${home}/${own}/commands?action.regex=Create`)).json().items.length, 1)
      t.equal(listTexts().filter(text => text === 'CreateDeal').length, 1, 'and of a log, only this one\'s entries')
    })
  }
}

t.test('a grant\'s own patterns are not bounded', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const patterns = Array.from({ length: 20 }, (_, n) => `^Tea${n}|${'.?'.repeat(300)}(?:ab?){600}$`)
  app.register(deals, {
    storage: memoryStorage(),
    version: 'v1',
    authorize: () => ({ where: [{ field: 'name', op: 'regex', patterns }] })
  })
  await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: { name: 'Tea3', price: 1 } })
  t.equal((await app.inject('/rest/v1/deals?name.regex=T')).json().items.length, 1)
  t.equal((await app.inject('/rest/v1/deals?name.regex=Z')).json().items.length, 0)
  t.equal((await app.inject(`/rest/v1/deals?name.regex=${encodeURIComponent('a{201}')}`)).statusCode, 400)
})
