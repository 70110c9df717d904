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

const deletions = [
  { method: 'DELETE', url: '/notes/1', refused: 405 },
  { method: 'POST', url: '/notes/1/deletions', payload: {}, refused: 404 },
  { method: 'POST', url: '/command/DeleteNote/', payload: { id: 1 }, refused: 404 },
  {
    method: 'POST',
    url: '/rest/commands',
    payload: { atomic: true, commands: [{ note: 1, action: 'DeleteNote' }] },
    refused: 400
  }
] as const

for (const { name, make } of storages) {
  for (const { refused, ...request } of deletions) {
    t.test(`${name}: ${request.method} ${request.url} deletes nothing with remove: false`, async t => {
      // Each deletes an item of the family that allows it, so that a refusal has no other cause.
      for (const [family, after] of [[defineFamily(notes), 404], [kept, 200]] as const) {
        const { storage, dispose } = await make()
        t.teardown(dispose)
        const app = await notesApp(t, storage, family as typeof kept)
        t.equal((await app.inject({ method: 'POST', url: '/notes', payload: { text: 'a' } })).statusCode, 201)
        const { statusCode, headers: { allow } } = await app.inject(request)
        if (family === kept) t.equal(statusCode, refused)
        else t.ok(statusCode < 300, `${statusCode}`)
        if (statusCode === 405) t.equal(allow, 'GET, HEAD, OPTIONS, PATCH, PUT')
        t.equal((await app.inject('/notes/1')).statusCode, after)
        t.equal((await family.service({ storage }).log(1)).items.length, family === kept ? 1 : 2)
      }
    })
  }
}

t.test('a service deletes nothing with remove: false', async t => {
  const book = kept.service({ storage: memoryStorage() })
  await book.create({ text: 'a' })
  await t.rejects(book.remove(1), { code: 'FST_DEALBOOK_UNKNOWN_OPERATION' })
  t.equal((await book.get(1)).text, 'a')
})

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

t.test('remove is true, false or rules, and needs create', async t => {
  const message = /"remove" must be true, false, or an object/
  t.throws(() => defineFamily({ ...notes, remove: 'no' } as never), { message })
  t.throws(() => customers.extend({ remove: true }), { message: /remove needs create/ })
  t.doesNotThrow(() => customers.extend({ remove: false }))
})
