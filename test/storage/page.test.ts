import fc from 'fast-check'
import t from 'tap'
import { query, thing } from '../../lib/conformance/fixture.js'
import { compareScalars, makeComparator } from '../../lib/core/storage/conditions.js'
import { FirstMatches, pageOf } from '../../lib/core/storage/pages.js'

t.test('a page is the same as if everything was sorted', async t => {
  const values = fc.array(fc.integer({ min: 0, max: 8 }), { maxLength: 60 })
  const bounds = fc.record({ offset: fc.nat(40), limit: fc.nat(20) })
  const sorts = fc.constantFrom(['id'], ['integer'], ['-integer', 'id'], ['integer', '-id'])
  fc.assert(fc.property(values, bounds, sorts, (values, { offset, limit }, sort) => {
    const items = values.map((integer, index) => thing((index * 37) % 61, integer === 8 ? {} : { integer }))
    const asked = query({ sort, offset, limit, count: true })
    const sorted = items.toSorted(makeComparator(asked.order))
    const { items: page, total } = pageOf(items, asked)
    const expected = sorted.slice(offset, offset + limit)
    return total === items.length && page.length === expected.length && page.every((item, at) => item === expected[at])
  }))
  t.pass('100 pages')
})

t.test('items may come one after the other', async t => {
  const items = Array.from({ length: 9 }, (_, id) => thing(id, { integer: id % 3 }))
  async function * stream () { yield * items }
  for (const asked of [query({ sort: ['-integer', 'id'], limit: 4, count: true }), query({ offset: 2, limit: 3 })]) {
    const page = pageOf(stream(), asked)
    t.ok(page instanceof Promise)
    t.strictSame(await page, pageOf(items, asked))
  }
  async function * broken () { yield * items; throw new Error('the cursor is gone') }
  await t.rejects(pageOf(broken(), query({})), { message: 'the cursor is gone' })
})

t.test('what comes in the wanted order is not kept before the page', async t => {
  const matches = new FirstMatches({ order: [], offset: 3, limit: 2, count: false })
  const isFull = Array.from({ length: 6 }, (_, id) => matches.add(thing(id)))
  t.strictSame(isFull, [false, false, false, false, true, true])
  t.strictSame(matches.toPage().items.map(({ id }) => id), [3, 4])
  const counting = new FirstMatches({ order: [], offset: 3, limit: 2, count: true })
  t.notOk(Array.from({ length: 6 }, (_, id) => counting.add(thing(id))).includes(true))
  t.equal(counting.toPage().total, 6)
})

t.test('texts are compared by code point, wherever they differ', async t => {
  const ends = ['', 'a', 'b', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}']
  for (const length of [0, 1, 511, 512, 513, 1024, 4000]) {
    const texts = ends.map(end => 'x'.repeat(length) + end)
    for (const [a, text] of texts.entries()) {
      const signs = texts.map(other => Math.sign(compareScalars(text, other)))
      t.strictSame(signs, texts.map((_, b) => Math.sign(a - b)), `after ${length} characters, ${a}`)
    }
  }
})
