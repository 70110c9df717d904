import Fastify from 'fastify'
import t from 'tap'
import { getFamily } from '../../lib/core/family/family.js'
import { hashText } from '../../lib/core/values/ids.js'
import { customers, deals, defineFamily, memoryStorage, type Storage, Type } from '../../lib/index.js'
import { storages } from '../storages.js'

function define (more: object) {
  const fields = { id: Type.Integer(), text: Type.String(), ...more } as { id: ReturnType<typeof Type.Integer> }
  return defineFamily({ name: 'notes', singular: 'note', fields: Type.Object(fields), create: ['text' as never] })
}

async function get (storage: Storage, family: ReturnType<typeof define>, headers: Record<string, string> = {}) {
  const app = Fastify()
  await app.register(family, { storage })
  const { statusCode, body, headers: { etag } } = await app.inject({ url: '/notes/1', headers })
  await app.close()
  return { statusCode, body, etag: String(etag) }
}

for (const { name, make } of storages) {
  t.test(`${name}: the tag of an item changes with the fields of its family`, async t => {
    const { storage, another = () => storage, dispose } = await make()
    t.teardown(dispose)
    const before = define({})
    const app = Fastify()
    app.register(before, { storage })
    const created = await app.inject({ method: 'POST', url: '/notes', payload: { text: 'a' } })
    t.equal(created.statusCode, 201)
    const old = await get(storage, before)
    t.match(old.etag, /^"1-json-[\w-]{6}"$/)
    t.equal(created.headers.etag, old.etag)
    t.equal((await get(storage, define({}), { 'if-none-match': old.etag })).statusCode, 304, 'the same fields')
    const later = define({ size: Type.Integer({ default: 7 }) })
    const { statusCode, body, etag } = await get(another(), later, { 'if-none-match': old.etag })
    t.equal(statusCode, 200)
    t.match(JSON.parse(body), { text: 'a', size: 7 })
    t.not(etag, old.etag)
    const changed = define({ size: Type.Integer({ default: 8 }) })
    t.equal((await get(another(), changed, { 'if-none-match': etag })).statusCode, 200)
    const remove = await app.inject({ method: 'DELETE', url: '/notes/1', headers: { 'if-match': etag } })
    t.equal(remove.statusCode, 204, 'a write compares the revision only')
    await app.close()
  })
}

t.test('the tags of the shipped families are as they were', async t => {
  const storage = memoryStorage()
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(deals, { storage, version: 'v1' })
  const extended = deals.extend({ fields: Type.Object({ region: Type.Optional(Type.String()) }) })
  app.register(extended, { storage, version: 'v2' })
  const created = await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: { name: 'Tea', price: 1 } })
  t.equal(created.headers.etag, '"1-json"')
  const { id } = created.json() as { id: string }
  t.equal((await app.inject(`/rest/v1/deals/${id}`)).headers.etag, '"1-json"')
  t.match((await app.inject(`/rest/v2/deals/${id}`)).headers.etag, /^"1-json-[\w-]{6}"$/, 'extended')
  for (const [family, fields] of [[deals, 'ukSGZy'], [customers, 'Cmxavg']] as const) {
    const { tag, fields: shown } = getFamily(family)
    t.equal(tag, '')
    t.equal(hashText(JSON.stringify(shown)).slice(0, 6), fields, 'fields that changed need a hash: no tagByRevision')
  }
})
