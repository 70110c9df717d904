import swagger from '@fastify/swagger'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import t from 'tap'
import type { Storage } from '../../lib/index.js'
import { customers, deals, defineFamily, memoryStorage } from '../../lib/index.js'
import { storages } from '../storages.js'

const notes = {
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.Integer(), text: Type.String() }),
  create: ['text'],
  edit: ['text']
} as const
const kept = defineFamily({ ...notes, remove: false })

async function notesApp (t: Test, storage: Storage, family: typeof kept = kept) {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'a', version: '1' } } })
  app.register(family, { storage })
  await app.ready()
  return app
}

interface Test {
  teardown (fn: () => unknown): void
}

for (const { name, make } of storages) {
  t.test(`${name}: items of a family with remove: false cannot be deleted`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = await notesApp(t, storage)
    t.equal((await app.inject({ method: 'POST', url: '/notes', payload: { text: 'a' } })).statusCode, 201)

    const refused = await app.inject({ method: 'DELETE', url: '/notes/1' })
    t.equal(refused.statusCode, 405)
    t.equal(refused.headers.allow, 'GET, HEAD, OPTIONS, PATCH, PUT')
    const unknown = [
      ['POST', '/notes/1/deletions', {}, 404],
      ['POST', '/command/DeleteNote/', { id: 1 }, 404],
      ['PUT', '/notes/1', { action: 'DeleteNote' }, 400],
      ['PUT', '/notes/1/commands/c-1', { action: 'DeleteNote' }, 400],
      ['PUT', '/rest/commands/c-1', { note: 1, action: 'DeleteNote' }, 400]
    ] as const
    for (const [method, url, payload, status] of unknown) {
      t.equal((await app.inject({ method, url, payload })).statusCode, status, `${method} ${url}`)
    }
    const book = kept.service({ storage })
    await t.rejects(book.remove(1), { code: 'FST_DEALBOOK_UNKNOWN_OPERATION' })
    t.equal((await app.inject('/notes/1')).json().text, 'a')
    t.equal((await book.log(1)).items.length, 1)
  })
}

t.test('nothing offers or documents a deletion', async t => {
  const offered = async (family: typeof kept) => {
    const app = await notesApp(t, memoryStorage(), family)
    await app.inject({ method: 'POST', url: '/notes', payload: { text: 'a' } })
    const operations = (await app.inject('/notes/1/operations')).json().items as { name: string }[]
    const page = await app.inject({ url: '/notes/1', headers: { accept: 'text/html' } })
    return {
      names: operations.map(({ name }) => name),
      forms: page.body.match(/\/notes\/1\/[a-z]+"/g)?.filter(action => action.includes('deletions')).length,
      documented: JSON.stringify(app.swagger()).match(/"operationId":"[^"]*(deletion|delete)[^"]*"/gi)?.length
    }
  }
  const plain = await offered(defineFamily(notes))
  t.same(plain.names, ['edit', 'delete'])
  t.equal(plain.forms, 1)
  t.ok(plain.documented)

  const without = await offered(kept)
  t.same(without.names, ['edit'])
  t.equal(without.forms, 0)
  t.notOk(without.documented)
})

t.test('an extension keeps, sets and takes back remove', t => {
  const canRemove = async (family: { service: typeof deals.service }) => {
    const book = family.service({ storage: memoryStorage() })
    const { item } = await book.create({ name: 'Tea', price: 1 })
    return await book.remove(item.id).then(() => true, () => false)
  }
  const ours = deals.extend({ remove: false })
  return Promise.all([
    t.resolveMatch(canRemove(deals), true),
    t.resolveMatch(canRemove(ours), false),
    t.resolveMatch(canRemove(ours.extend({ remove: undefined } as {})), false),
    t.resolveMatch(canRemove(ours.extend({ edit: ['price'] })), false),
    t.resolveMatch(canRemove(ours.extend({ remove: true })), true)
  ])
})

t.test('the words of a deletion are free for an operation', async t => {
  const operations = {
    hide: {
      name: 'hide',
      verb: 'hide',
      participle: 'hidden',
      noun: 'deletions',
      action: 'DeleteNote',
      params: Type.Object({}),
      apply: (note: { text: string }) => ({ ...note, text: '' })
    }
  }
  t.throws(() => defineFamily({ ...notes, operations } as never), { code: 'FST_DEALBOOK_INVALID_DEFINITION' })
  const app = await notesApp(t, memoryStorage(), defineFamily({ ...notes, remove: false, operations } as never))
  await app.inject({ method: 'POST', url: '/notes', payload: { text: 'a' } })
  t.equal((await app.inject({ method: 'POST', url: '/notes/1/deletions', payload: {} })).statusCode, 201)
  t.equal((await app.inject('/notes/1')).json().text, '')
})

t.test('remove is true or false, and needs create', async t => {
  const message = /"remove" must be true or false/
  t.throws(() => defineFamily({ ...notes, remove: 'no' } as never), { message })
  t.throws(() => customers.extend({ remove: true }), { message: /remove needs create/ })
  t.doesNotThrow(() => customers.extend({ remove: false }))
})
