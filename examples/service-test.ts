// How a host tests its own operation without HTTP: node --test build/examples/service-test.js
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryStorage } from 'fastify-dealbook'
import { ourDeals } from './own-operation.js'

/** A new deal in a separate storage, so that tests are independent. */
async function makeDeal () {
  const book = ourDeals.service({ storage: memoryStorage() })
  const { item } = await book.create({ name: 'Tea', price: 100, region: 'north' })
  return { book, id: item.id }
}

test('an open deal is approved', async () => {
  const { book, id } = await makeDeal()
  const { item, changed } = await book.run('approve', id, { by: 'ann' })
  assert.equal(changed, true)
  assert.equal(item?.approvedBy, 'ann')
})

test('a held deal is not', async () => {
  const { book, id } = await makeDeal()
  await book.run('hold', id, { reason: 'Papers' })
  await assert.rejects(book.run('approve', id, { by: 'ann' }), {
    code: 'wrong-state',
    members: { state: 'held', operation: 'approve', allowed: ['unhold', 'cancel', 'edit'] }
  })
  assert.equal((await book.get(id)).approvedBy, undefined)
})

test('the same approval again changes nothing', async () => {
  const { book, id } = await makeDeal()
  await book.run('approve', id, { by: 'ann' })
  const { changed } = await book.run('approve', id, { by: 'ann' })
  assert.equal(changed, false)
  assert.deepEqual((await book.log(id)).items.map(({ action }) => action), ['CreateDeal', 'ApproveDeal'])
})

test('it must have been approved', async () => {
  const { book, id } = await makeDeal()
  await assert.rejects(book.run('approve', id, { by: '' }), {
    code: 'invalid-body',
    errors: [{ pointer: '/by', detail: 'must not be empty' }]
  })
})
