import { setImmediate as immediate } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyOptions, Storage } from '../../lib/index.js'
import { defineFamily, memoryStorage } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { evilPatterns } from '../evil-patterns.js'
import { storages } from '../storages.js'

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.Integer(), text: Type.String() })
})

async function notesApp (
  t: { teardown (close: () => Promise<unknown>): void },
  storage: Storage,
  options: Partial<FamilyOptions> = {}
) {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(notes, { storage, timeout: 600_000, ...options })
  await app.ready()
  return app
}

// Always the same: letters whose order never comes again, of all scripts too.
function makeText (length: number, letters: number, first: number): string {
  let seed = 1
  return Array.from({ length }, () => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
    return String.fromCharCode(first + (seed >>> 8) % letters)
  }).join('')
}

// An index of PostgreSQL takes no text above 2704 bytes that cannot be compressed.
function makeLongTexts (storage: string): string[] {
  const [latin, others] = storage === 'postgres' ? [2600, 800] : [4000, 4000]
  return [`${'a'.repeat(4000)}!`, makeText(latin, 26, 97), makeText(others, 0x2000, 0x100)]
}

for (const { name, make } of storages) {
  t.test(`${name}: no evil pattern fails, or fills the memory`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    await loadItems(storage, notes, [...makeLongTexts(name), 'plain'].map((text, id) => ({ id, text })))
    const app = await notesApp(t, storage)
    const search = async (pattern: string) =>
      await app.inject({ url: '/notes', query: { 'text.regex': pattern, fields: 'id' } })
    await search('warm')
    for (const { pattern, refused } of evilPatterns) {
      const shown = pattern.slice(0, 40)
      const before = process.memoryUsage()
      const { statusCode, body } = await search(pattern)
      t.equal(statusCode, refused === true ? 400 : 200, shown)
      const { items, errors } = JSON.parse(body)
      if (refused === true) t.equal(errors[0].parameter, 'text.regex')
      else t.ok(Array.isArray(items))
      const after = process.memoryUsage()
      t.ok(after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers < 50e6, `memory for ${shown}`)
    }
    t.ok(evilPatterns.length >= 50)
    t.strictSame((await search('a!$')).json().items, [{ id: 0 }], 'and what is there is still found')
  })
}

for (const { name, make } of storages) {
  t.test(`${name}: of a long text, as much is searched as the size of the pattern allows`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    await loadItems(storage, notes, [4000, 6000].map(length => ({ id: length, text: `${' '.repeat(length)}!` })))
    const app = await notesApp(t, storage)
    const found = async (query: Record<string, string>): Promise<number[]> =>
      (await app.inject({ url: '/notes', query })).json().items.map(({ id }: { id: number }) => id)
    t.strictSame(await found({ 'text.regex': '!' }), [4000, 6000])
    t.strictSame(await found({ 'text.regex': '!|a{98}' }), [4000], '5,000 characters with a pattern of size 100')
    t.strictSame(await found({ 'text.regex': '!|a{98}', sort: '-text' }), [4000])
    t.strictSame(await found({ 'text.has': '!' }), [4000, 6000])
  })
}

t.test('what is no pattern, or larger than the bound, is refused with the bound', async t => {
  const app = await notesApp(t, memoryStorage())
  const search = async (...patterns: string[]) => {
    const { statusCode, body } =
      await app.inject(`/notes?${patterns.map(pattern => `text.regex=${encodeURIComponent(pattern)}`).join('&')}`)
    return { statusCode, errors: JSON.parse(body).errors }
  }
  const flawed: [patterns: string[], detail: RegExp][] = [
    [['(?=a)a'], /in RE2 syntax/],
    [['(a)\\1'], /in RE2 syntax/],
    [['a'.repeat(201)], /at most 200 characters/],
    [['a{201}'], /at most 200$/],
    [['(?:a{15}){15}'], /at most 200$/],
    [['(?i)\\pL{199}'], /at most 200$/],
    [['a', 'b', 'c', 'd', 'e', 'f'], /at most 5$/]
  ]
  for (const [patterns, detail] of flawed) {
    t.match(await search(...patterns), { statusCode: 400, errors: [{ parameter: 'text.regex', detail }] })
  }
  t.equal((await search('a{200}')).statusCode, 200)
  t.equal((await search('\\pL', 'b')).statusCode, 200)
  t.match((await search('(', '(', '(', '(', '(', '(', 'b')).errors.map((flaw: { detail: string }) => flaw.detail), [
    ...Array.from({ length: 5 }, () => /RE2 syntax/), /at most 5$/, /at most 5$/
  ], 'wrong ones count too')
  const many = '/notes?id.regex=1&text.regex=a&id.regex=2&id.regex=3&id.regex=4&id.regex=5'
  t.match((await app.inject(many)).json().errors, [{ parameter: 'id.regex' }])
})

t.test('a slow search holds up no other request', async t => {
  const storage = memoryStorage()
  await loadItems(storage, notes, Array.from({ length: 500 }, (_, id) => ({ id, text: `${'a'.repeat(4000)}!` })))
  const app = Fastify()
  app.register(notes, { storage })
  t.teardown(() => app.close())
  await app.ready()

  const search = { isOver: false }
  const slow = app.inject({ url: '/notes', query: { 'text.regex': '(.*a){20}$', count: 'exact' } })
    .finally(() => { search.isOver = true })
  let answered = 0
  while (!search.isOver) {
    const quick = await app.inject(`/notes/${answered % 500}`)
    t.equal(quick.statusCode, 200)
    if (!search.isOver) answered++
    // An injected request may need nothing but microtasks, and these alone would never let the search go on.
    await immediate()
  }
  t.ok(answered > 0, `${answered} quick ones were answered before it`)
  t.match((await slow).json(), { items: { length: 0 }, total: 0 })
})
