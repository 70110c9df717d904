import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryStorage } from 'fastify-dealbook'
import { buildApp } from '../src/app.js'

/** An application with one open ticket, in a separate storage, so that tests are independent. */
async function makeTicket () {
  const app = buildApp(memoryStorage())
  const created = await app.inject({ method: 'POST', url: '/rest/v1/tickets', payload: { subject: 'No tea' } })
  assert.equal(created.statusCode, 201)
  return { app, url: `/rest/v1/tickets/${created.json().id}` }
}

test('an open ticket is resolved, and the log has it', async () => {
  const { app, url } = await makeTicket()
  const resolved = await app.inject({ method: 'PUT', url: `${url}/resolve`, payload: { answer: 'Here it is' } })
  assert.equal(resolved.statusCode, 200)
  assert.equal(resolved.json().status, 'resolved')
  const log = (await app.inject(`${url}/commands`)).json()
  assert.deepEqual(log.items.map(({ action }: { action: string }) => action), ['CreateTicket', 'ResolveTicket'])
})

test('a resolved ticket gets no second answer', async () => {
  const { app, url } = await makeTicket()
  await app.inject({ method: 'PUT', url: `${url}/resolve`, payload: { answer: 'Here it is' } })
  const refused = await app.inject({ method: 'PUT', url: `${url}/resolve`, payload: { answer: 'Out of stock' } })
  assert.equal(refused.statusCode, 409)
  assert.equal(refused.json().detail, 'The ticket is already resolved')
})

test('an answer is required', async () => {
  const { app, url } = await makeTicket()
  const refused = await app.inject({ method: 'PUT', url: `${url}/resolve`, payload: {} })
  assert.equal(refused.statusCode, 400)
  assert.equal((await app.inject(url)).json().status, 'open')
})

test('it is healthy', async () => {
  assert.equal((await buildApp(memoryStorage()).inject('/health')).statusCode, 200)
})
