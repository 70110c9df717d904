import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import type { FamilyDefinition } from '../../lib/index.js'
import { deals, defineFamily, memoryStorage, Problem, Type } from '../../lib/index.js'
import type { TestResponse } from '../deals/app.js'

const home = '/rest/v1/deals'
const headers = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' }

interface Line {
  readonly msg: string
  readonly err?: { readonly message: string }
}

async function send (app: FastifyInstance, url: string, form: Record<string, string>): Promise<TestResponse> {
  return await app.inject({ method: 'POST', url, headers, payload: String(new URLSearchParams(form)) })
}

/** A deal, and a form that is refused; the page that it is on fails as the test says. */
async function sendRefusedForm (
  place: 'storage' | 'authorize' | undefined,
  failure: Error | undefined,
  action: string
): Promise<{ status: number, body: string, lines: Line[] }> {
  const lines: Line[] = []
  const app = Fastify({ logger: { level: 'warn', stream: { write: line => { lines.push(JSON.parse(line)) } } } })
  const storage = memoryStorage()
  let isBroken = false
  await app.register(deals, {
    storage: {
      prepare: storage.prepare,
      get: storage.get,
      commit: storage.commit,
      close: storage.close,
      async find (family, query) {
        if (isBroken && place === 'storage') throw failure
        return await storage.find(family, query)
      }
    },
    version: 'v1',
    forms: ['noun'],
    authorize (_request, intent) {
      if (isBroken && place === 'authorize' && ['read', 'list'].includes(intent.action)) throw failure
    }
  })
  const { id } = (await app.inject({ method: 'POST', url: home, payload: { name: 'tea', price: 1 } })).json()
  isBroken = true
  const url = action === 'create' ? home : `${home}/${id}/${action}`
  const { statusCode, body } = await send(app, url, {})
  await app.close()
  return { status: statusCode, body, lines }
}

for (const action of ['create', 'holds']) {
  t.test(`${action}: a form that is refused is shown again`, async t => {
    const { status, body, lines } = await sendRefusedForm(undefined, undefined, action)
    t.equal(status, 400)
    t.match(body, 'Please correct what you entered.')
    t.match(body, '<form')
    t.same(lines, [])
  })

  for (const [place, failure] of [
    ['storage', new Error('the disk is gone')],
    ['authorize', new Error('no rules')],
    ['authorize', new Problem('internal', 'no answer')]
  ] as const) {
    t.test(`${action}: where its page cannot be read (${failure.message}), the refusal is answered`, async t => {
      const { status, body, lines } = await sendRefusedForm(place, failure, action)
      t.equal(status, 400)
      t.notMatch(body, '<form')
      t.match(body, action === 'create' ? 'Name is required' : 'Reason is required')
      const logged = lines.map(({ msg, err }) => [msg, err?.message])
      t.strictSame(logged, [['The page of a refused form cannot be shown', failure.message]], 'and the failure logged')
    })
  }

  t.test(`${action}: where its page may not be seen, the refusal is answered and nothing logged`, async t => {
    const { status, body, lines } = await sendRefusedForm('authorize', new Problem('forbidden', 'not you'), action)
    t.equal(status, 400)
    t.notMatch(body, '<form')
    t.same(lines, [])
  })
}

t.test('what others did is shown if that is why a form is refused', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(deals, { storage: memoryStorage(), version: 'v1', forms: ['verb', 'noun'] })
  const { id } = (await app.inject({ method: 'POST', url: home, payload: { name: 'tea', price: 1 } })).json()
  await app.inject({ method: 'PUT', url: `${home}/${id}/edit`, payload: { name: 'silk' } })
  for (const [name, status, isShown] of [['ink', 412, true], ['', 400, false]] as const) {
    const again = await send(app, `${home}/${id}/edits`, { name, '_was.name': 'tea', _revision: '1' })
    t.equal(again.statusCode, status)
    t.equal(again.body.includes('class="theirs"'), isShown)
  }
})

t.test('what was sent for selected rows is in no other form', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(deals, { storage: memoryStorage(), version: 'v1', forms: ['verb', 'noun'] })
  for (const [form, isEntered] of [[{}, true], [{ _operation: 'hold' }, false]] as const) {
    const again = await send(app, home, { name: 'tea', price: 'much', ...form })
    t.equal(again.statusCode, 400)
    t.equal(again.body.includes('value="tea"'), isEntered)
  }
})

t.test('a form leads to its item, which it may name by its title', async t => {
  const base = {
    name: 'rooms',
    singular: 'room',
    fields: Type.Object({ id: Type.Integer(), label: Type.String(), next: Type.Optional(Type.Integer()) }),
    edit: ['label', 'next'],
    references: { next: 'rooms' }
  }
  const whole = { ...base, create: ['label', 'next'] }
  // The deletion leads to the list.
  const table: [object, string, string | undefined][] = [
    [base, '/rooms/2', undefined], [{ ...whole, remove: false }, '/rooms/2', undefined], [whole, '/rooms/2', '/rooms']
  ]
  for (const [definition, edited, deleted] of table) {
    const storage = memoryStorage()
    const service = defineFamily(whole as unknown as FamilyDefinition).service({ storage })
    for (const label of ['hall', 'bath']) await service.create({ label })
    const app = Fastify()
    app.register(defineFamily(definition as unknown as FamilyDefinition), { storage })
    const answer = await send(app, '/rooms/2/edits', { '_find.next': 'hall' })
    t.strictSame([answer.statusCode, answer.headers.location], [303, edited])
    t.match(await service.get(2), { next: 1 })
    if (deleted !== undefined) t.equal((await send(app, '/rooms/2/deletions', {})).headers.location, deleted)
    await app.close()
  }
})
