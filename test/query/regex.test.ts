import { setImmediate as immediate } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import t from 'tap'
import { defineFamily, loadItems, memoryStorage } from '../../lib/index.js'

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.Integer(), text: Type.String() })
})

// Each of these would keep an engine that goes back over its steps busy for longer than a test may run.
const evil = [
  '(a+)+$',
  '(a*)*$',
  '(a|a)*$',
  '(a|aa)+$',
  '((a+)+)+$',
  '(.*a){20}$',
  '(a?){50}a{50}$',
  '(([a-z])+.)+[A-Z]([a-z])+$',
  '(.*)*=(.*)*;',
  '(\\w+\\s?)*$',
  '^(([a-z])+)+[0-9]$'
]

t.test('evil patterns over long strings end', async t => {
  const storage = memoryStorage()
  await loadItems(storage, notes, [{ id: 1, text: `${'a'.repeat(5000)}!` }, { id: 2, text: 'plain' }])
  const app = Fastify()
  app.register(notes, { storage })
  t.teardown(() => app.close())
  for (const pattern of evil) {
    const { statusCode, body } = await app.inject({ url: '/notes', query: { 'text.regex': pattern, fields: 'id' } })
    t.equal(statusCode, 200, pattern)
    t.ok(Array.isArray(JSON.parse(body).items), pattern)
  }
  t.strictSame(
    (await app.inject({ url: '/notes', query: { 'text.regex': 'a!$', fields: 'id' } })).json().items,
    [{ id: 1 }],
    'and still find what is there'
  )
})

t.test('patterns that would grow too large are refused', async t => {
  const app = Fastify()
  app.register(notes, { storage: memoryStorage() })
  t.teardown(() => app.close())
  for (const pattern of [
    '((((a{1,9}){1,9}){1,9}){1,9}){1,9}',
    '((a{1000}){1000}){1000}',
    'a{1001}',
    'a'.repeat(201),
    '(?=a)a',
    '(a)\\1'
  ]) {
    const answer = await app.inject({ url: '/notes', query: { 'text.regex': pattern } })
    t.equal(answer.statusCode, 400, pattern.slice(0, 40))
    t.equal(answer.json().errors[0].parameter, 'text.regex')
  }
})

t.test('a slow search holds up no other request', async t => {
  const storage = memoryStorage()
  await loadItems(storage, notes, Array.from({ length: 3000 }, (_, id) => ({ id, text: `${'a'.repeat(4000)}!` })))
  const app = Fastify()
  app.register(notes, { storage })
  t.teardown(() => app.close())
  await app.ready()

  const search = { isOver: false }
  const slow = app.inject({ url: '/notes', query: { 'text.regex': '(.*a){20}$', count: 'exact' } })
    .finally(() => { search.isOver = true })
  let answered = 0
  while (!search.isOver) {
    const quick = await app.inject(`/notes/${answered % 3000}`)
    t.equal(quick.statusCode, 200)
    if (!search.isOver) answered++
    // An injected request may need nothing but microtasks, and these alone would never let the search go on.
    await immediate()
  }
  t.ok(answered > 0, `${answered} quick ones were answered before it`)
  t.match((await slow).json(), { items: { length: 0 }, total: 0 })
})
