import { Writable } from 'node:stream'
import Fastify from 'fastify'
import t from 'tap'
import { type Committed, deals, defineFamily, memoryStorage, Type } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { makeWebhooks } from '../../lib/webhooks/webhooks.js'
import { storages } from '../storages.js'
import { quick, receive, until } from './receiver.js'

// Letters only, so that no representation writes them in another way.
const secrets = ['A', 'B', 'C', 'D'].map(letter => `whsec_${letter.repeat(32)}`) as [string, string, string, string]

for (const { name, make } of storages) {
  t.test(`on ${name}, a secret is in the answer to the command that sets it, and nowhere else`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const committed: Committed[] = []
    let logged = ''
    const stream = new Writable({ write (part, _encoding, done) { logged += String(part); done() } })
    const app = Fastify({ logger: { level: 'trace', stream } })
    t.teardown(() => app.close())
    const webhooks = makeWebhooks(quick)
    const notes = defineFamily({
      name: 'notes',
      singular: 'note',
      fields: Type.Object({ id: Type.String(), webhook: Type.String() }),
      create: ['webhook'],
      references: { webhook: webhooks }
    })
    app.register(deals, { storage, prefix: '/crm', version: 'v1' })
    app.register(webhooks, { storage, prefix: '/crm', onCommitted: change => { committed.push(change as Committed) } })
    app.register(notes, { storage, prefix: '/crm' })
    const { url, received } = await receive(t)

    const payload = { url, secret: secrets[0], families: ['deals'] }
    const create = { method: 'POST', url: '/crm/webhooks', payload } as const
    const key = { 'idempotency-key': 'k-1' }
    const created = await app.inject({ ...create, headers: key })
    t.equal(created.statusCode, 201)
    t.equal(created.json().secret, secrets[0])
    const { id } = created.json() as { id: string }
    const home = `/crm/webhooks/${id}`
    const verb = await app.inject({ method: 'PUT', url: `${home}/rotate-secret`, payload: { secret: secrets[1] } })
    t.equal(verb.json().secret, secrets[1])
    const noun = { method: 'POST', url: `${home}/secret-rotations`, payload: { secret: secrets[2] } } as const
    const rotated = await app.inject({ ...noun, headers: { 'idempotency-key': 'k-2' } })
    t.equal(rotated.statusCode, 201)
    t.equal(rotated.json().secret, secrets[2])
    const command = {
      method: 'PUT',
      url: `${home}/commands/c-1`,
      payload: { action: 'RotateWebhookSecret', params: { secret: secrets[3] } }
    } as const
    t.equal((await app.inject(command)).json().secret, secrets[3])

    const shows = (text: string): boolean => secrets.some(secret => text.includes(secret.slice(6)))
    const hides = (text: string, what: string): void => { t.notOk(shows(text), what) }

    for (const [what, request] of Object.entries({
      create: { ...create, headers: key }, noun: { ...noun, headers: { 'idempotency-key': 'k-2' } }, command
    })) {
      const replay = await app.inject(request)
      t.equal(replay.headers['idempotent-replayed'], 'true', what)
      hides(replay.body, `the replay of ${what}`)
    }
    // What was sent still tells commands apart.
    const other = { ...command, payload: { ...command.payload, params: { secret: secrets[0] } } }
    t.equal((await app.inject(other)).statusCode, 422)

    await app.inject({ method: 'POST', url: '/crm/notes', payload: { webhook: id } })
    await app.inject({ method: 'POST', url: '/crm/rest/v1/deals', payload: { name: 'Tea', price: 1 } })
    await until(() => received.length > 0)

    const paths = [
      '/crm/webhooks', home, `${home}/commands`, `${home}/commands/c-1`, `${home}/secret-rotations`,
      `${home}/operations`, `${home}/deliveries`,
      '/crm/webhooks/commands', '/crm/rest/commands', '/crm/rest/commands/c-1',
      `/crm/query/webhooks/${id}`, '/crm/', '/crm/notes?expand=webhook', `${home}/commands?after=`
    ]
    for (const path of paths) {
      for (const format of ['json', 'xml', 'html', 'csv', 'ndjson']) {
        const response = await app.inject(`${path}${path.includes('?') ? '&' : '?'}format=${format}`)
        t.ok([200, 400, 406].includes(response.statusCode), `${path} ${format} ${response.statusCode}`)
        hides(response.body, `${path} as ${format}`)
      }
    }
    hides((await app.inject({ url: '/crm/notes?expand=webhook' })).body, 'expand')
    // The next requests have it in their URLs.
    hides(logged, "the application's log")
    t.ok(logged.includes('RotateWebhookSecret'))
    for (const query of ['fields=secret', 'sort=secret', `secret=${secrets[3]}`, 'secret.has=D', 'min-secret=a']) {
      t.equal((await app.inject(`/crm/webhooks?${query}`)).statusCode, 400, query)
    }
    for (const payload of [{ secret: secrets[3] }, { secret: null }]) {
      t.equal((await app.inject({ method: 'PATCH', url: home, payload })).statusCode, 400)
    }
    const service = webhooks.service({ storage })
    hides(JSON.stringify([await service.get(id), await service.find(), await service.log(id)]), 'the service')
    hides(JSON.stringify(committed), 'onCommitted')
    t.equal(committed.length, 4)
    hides(JSON.stringify(received.map(({ headers, body }) => [headers, body])), 'events')
    const order = [{ field: 'id', descending: false }]
    const { items } = await storage.find('commands', { where: [], order, offset: 0, limit: 100, count: false })
    t.ok(items.length >= 6)
    hides(JSON.stringify(items), 'the log in the storage')
    t.equal((await storage.get('webhooks', id))?.secret, secrets[3])
  })
}

t.test('a page shows a secret that was made, once', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(makeWebhooks(quick), { storage: memoryStorage(), prefix: '/crm' })
  const headers = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' }
  const send = async (url: string, fields: Record<string, string>) =>
    await app.inject({ method: 'POST', url, headers, payload: new URLSearchParams(fields).toString() })
  const form = { _key: 'k-1', url: 'https://example.org/' }
  const created = await send('/crm/webhooks', form)
  t.equal(created.statusCode, 201)
  t.match(created.body, /whsec_/)
  t.match(created.body, '<main id="main" data-done', 'its form is done')
  const again = await send('/crm/webhooks', form)
  t.equal(again.statusCode, 303, 'a reload goes to the page of the item')
  const page = await app.inject({ url: again.headers.location as string, headers: { accept: 'text/html' } })
  t.equal(page.statusCode, 200)
  t.notMatch(page.body, /whsec_[A-Za-z0-9+]{10}/)
  const rotated = await send(`${String(again.headers.location)}/secret-rotations`, {})
  t.match(rotated.body, /whsec_/)
})

t.test('fields that clients never read, in any family', async t => {
  const accounts = defineFamily({
    name: 'accounts',
    singular: 'account',
    fields: Type.Object({
      id: Type.String(),
      name: Type.String(),
      pin: Type.Optional(Type.String({ writeOnly: true }))
    }),
    create: ['name', 'pin'],
    edit: ['name', 'pin']
  })
  const storage = memoryStorage()
  const book = accounts.service({ storage })
  const { item } = await book.create({ name: 'Ann', pin: '4711' })
  t.equal(item.pin, '4711')
  const renamed = await book.run('edit', item.id, { name: 'Anna' })
  t.notOk('pin' in (renamed.item as object), 'it has not changed')
  t.equal((await storage.get('accounts', item.id))?.pin, '4711', 'but it is still there')
  const edited = await book.run('edit', item.id, { pin: '0815' })
  t.match(edited, { item: { pin: '0815' }, changed: true })
  t.strictSame(edited.command.params, {})
  t.strictSame((await storage.find('commands', {
    where: [{ field: 'revision', op: 'eq', values: [3] }],
    order: [{ field: 'id', descending: false }],
    offset: 0,
    limit: 1,
    count: false
  })).items[0]?.changes, { pin: {} })
  const other = accounts.rename({ pin: 'code' }).service({ storage })
  t.match(await other.run('edit', item.id, { code: '1234' }), { item: { code: '1234' } })
  t.notOk('code' in await other.get(item.id))
  t.equal((await storage.get('accounts', item.id))?.pin, '1234')

  const app = Fastify()
  t.teardown(() => app.close())
  app.register(accounts, { storage })
  const page = await app.inject({ url: `/accounts/${item.id}`, headers: { accept: 'text/html' } })
  t.match(page.body, /name="pin"/, 'it can be entered')
  t.notMatch(page.body, /1234/)
  await loadItems(storage, accounts, [{ id: 'x', name: 'Bob', pin: '9' }])
  t.equal((await storage.get('accounts', 'x'))?.pin, '9')

  const { definition } = accounts
  for (const flawed of [{ order: ['pin'] }, { title: 'pin' }, { list: ['pin'] }, { search: ['pin'] }]) {
    const define = () => defineFamily({ ...definition, ...flawed } as never)
    t.throws(define, { code: 'FST_DEALBOOK_INVALID_DEFINITION' }, JSON.stringify(flawed))
  }
})
