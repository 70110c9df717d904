import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance, type InjectOptions } from 'fastify'
import t from 'tap'
import {
  type Committed, ConstraintError, type ConstraintOptions, deals, decimal, defineFamily, type Intent, invalidBody,
  memoryStorage, Problem, type Storage, Type
} from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { storages } from '../storages.js'

const words = (verb: string) => {
  const action = verb.replace(/^./, letter => letter.toUpperCase())
  return { name: verb, verb, participle: `${verb}-done`, noun: `${verb}s`, action }
}

const machines = defineFamily({
  name: 'machines',
  singular: 'machine',
  fields: Type.Object({ id: Type.Integer(), status: Type.String({ default: 'free' }), site: Type.String() }),
  create: ['site', 'status']
})

const bookings = defineFamily({
  name: 'bookings',
  singular: 'booking',
  fields: Type.Object({
    id: Type.Integer(),
    machine: Type.Integer(),
    number: Type.String(),
    total: Type.Integer({ minimum: 0 }),
    note: Type.Optional(Type.String()),
    branch: Type.Optional(Type.String()),
    paid: Type.Boolean({ default: false }),
    status: Type.String({ default: 'new' })
  }),
  references: { machine: machines },
  unique: [['number', 'branch'], ['note']],
  order: ['-total'],
  title: 'number',
  list: ['number', 'total', 'status'],
  create: { fields: ['machine', 'number', 'total', 'note'], with: { machine: 'machine' } },
  edit: ['note', 'total'],
  state: ({ status, total }) => `${status} at ${total}`,
  initial: (booking, { claims, items: { machine } }) =>
    ({ item: { ...booking, branch: claims.branch ?? 'none' }, others: { machine: { ...machine, status: 'booked' } } }),
  attributes: {
    fields: ['paid'],
    read: ({ paid, total }) =>
      paid ? { operation: 'pay', params: { sum: total } } : { field: 'paid', detail: 'stays' }
  },
  queries: { 'bookings-by-number': { field: 'number' } },
  operations: {
    pay: {
      ...words('pay'),
      params: Type.Object({ sum: Type.Integer() }),
      changes: ['paid'],
      final: true,
      allowed: ({ total }, params) => (params?.sum ?? total) >= total || `It costs ${total}`,
      apply: booking => ({ ...booking, paid: true })
    },
    'hand-out': {
      ...words('hand-out'),
      action: 'HandOut',
      params: Type.Object({}),
      with: { machine: 'machine' },
      allowed: (_booking, _params, { items: { machine } }) => machine?.['status'] === 'booked' || 'It is not there',
      apply: (booking, _params, { items: { machine } }) =>
        ({ item: { ...booking, status: 'out' }, others: { machine: { ...machine, status: 'out' } } })
    }
  }
})

const machinesV2 = machines.rename({ status: 'state', site: 'status' })
const bookingsV2 = bookings.rename({
  total: 'amount', machine: 'device', number: 'code', branch: 'office', paid: 'note', note: 'paid'
})

const plain = ({ statusCode, body }: { statusCode: number, body: string }) =>
  ({ statusCode, ...(body === '' ? {} : JSON.parse(body) as object) })

function sender (app: FastifyInstance) {
  return async (method: 'GET' | 'POST' | 'PUT' | 'PATCH', url: string, payload?: object, headers = {}) => {
    const request: InjectOptions = { method, url, ...(payload && { payload }), headers }
    return plain(await app.inject(request)) as Record<string, any>
  }
}

for (const { name, make } of storages) {
  t.test(`${name}: a renamed family has the same items`, async t => {
    const { storage, dispose } = await make()
    const app = Fastify()
    t.teardown(async () => { await app.close(); await dispose() })
    const committed: Committed[] = []
    const intents: object[] = []
    const onCommitted = (change: Committed) => { committed.push(change) }
    const where = (field: string, request: { headers: Record<string, unknown> }) =>
      typeof request.headers['x-office'] === 'string'
        ? [{ field, op: 'eq' as const, values: [request.headers['x-office']] }]
        : []
    await app.register(swagger, { openapi: {} })
    app.register(machines, { storage, version: 'v1' })
    app.register(bookings, {
      storage,
      version: 'v1',
      authorize: request => ({ claims: { branch: request.headers['x-office'] }, where: where('branch', request) })
    })
    app.register(machinesV2, { storage, version: 'v2' })
    app.register(bookingsV2, {
      storage,
      version: 'v2',
      onCommitted,
      authorize: (request, intent) => {
        intents.push(intent)
        if (request.headers['x-refused'] !== undefined) {
          throw new Problem('forbidden', '/paid', { errors: [{ pointer: '/paid', detail: 'is /paid' }] })
        }
        return { claims: { branch: request.headers['x-office'] }, where: where('office', request) }
      }
    })
    await app.ready()
    const { components: { schemas }, paths } = app.swagger() as {
      components: { schemas: Record<string, { title: string }> }, paths: Record<string, object>
    }
    const [old, renamed] = ['v1', 'v2'].map(version => JSON.stringify([
      Object.values(schemas).filter(({ title }) => title.startsWith(version)),
      Object.entries(paths).filter(([path]) => path.startsWith(`/rest/${version}/`))
    ]))
    t.match(old, /"total".*"min-total"/)
    t.match(renamed, /"amount".*"min-amount"/)
    t.notMatch(renamed, /"(branch|min-total|site)"/)
    const [[key]] = Object.entries(schemas).filter(([, { title }]) => title === 'v2.Machine') as [[string, object]]
    const expanded = Object.values(schemas).find(({ title }) => title === 'v2.ExpandedBooking')
    t.match(JSON.stringify(expanded), `"device":{"anyOf":[{"type":"integer"},{"$ref":"#/components/schemas/${key}"}]}`)
    for (const name of ['Booking', 'ExpandedBooking', 'Machine', 'EditBookingParams']) {
      const schema = JSON.stringify(Object.values(schemas).filter(({ title }) => title === `v2.${name}`))
      t.match(schema, /"(amount|state)"/, name)
      t.notMatch(schema, /"(total|number|site)"/, name)
    }
    const send = sender(app)
    const [v1, v2] = ['/rest/v1/bookings', '/rest/v2/bookings']

    const machine = { state: 'free', status: 'yard' }
    t.match(await send('POST', '/rest/v2/machines', machine), machine)
    t.match(await send('GET', '/rest/v1/machines/1'), { status: 'free', site: 'yard' })

    const sent = { device: 1, code: 'a', amount: 7, paid: 'cash' }
    t.match(await send('POST', v2, { ...sent, amount: -1 }), { statusCode: 400, errors: [{ pointer: '/amount' }] })
    t.match(await send('POST', v2, { ...sent, total: 1 }), { statusCode: 400, errors: [{ pointer: '/total' }] })
    const missing = await send('POST', v2, { ...sent, device: 9 })
    t.match(missing, { statusCode: 400, errors: [{ pointer: '/device', detail: 'does not name an existing machine' }] })
    t.match(missing.detail, /^\/device does not name/)

    intents.length = 0
    const made = await send('POST', v2, sent, { 'idempotency-key': 'k', 'x-office': 'south' })
    const item = { device: 1, code: 'a', amount: 7, paid: 'cash', office: 'south', note: false, status: 'new' }
    t.match(made, { statusCode: 201, id: 1, revision: 1, ...item })
    const others = ['createdAt', 'id', 'links', 'revision', 'statusCode', 'updatedAt']
    t.strictSame(Object.keys(made).sort(), [...Object.keys(item), ...others].sort())
    t.match(made.links, { device: '/rest/v2/machines/1' })
    t.match(intents[0], { action: 'CreateBooking', params: sent })
    t.match(committed[0], { action: 'CreateBooking', params: sent, before: undefined, after: item })
    t.match(await send('GET', `${v1}/1`),
      { machine: 1, number: 'a', total: 7, note: 'cash', branch: 'south', paid: false })
    t.match(await send('GET', '/rest/v1/machines/1'), { status: 'booked', site: 'yard' })
    const again = await app.inject({
      method: 'POST', url: v2, payload: sent, headers: { 'idempotency-key': 'k', 'x-office': 'south' }
    })
    t.match([again.headers['idempotent-replayed'], again.json()], ['true', item])

    const taken = await send('POST', v2, { device: 1, code: 'a', amount: 1 }, { 'x-office': 'south' })
    t.match(taken, {
      statusCode: 409,
      detail: '/code is already taken, together with /office. Nothing was done',
      errors: [{ pointer: '/code', detail: 'is already taken, together with /office' }, { pointer: '/office' }]
    })
    t.match(await send('POST', v2, { ...sent, code: 'b' }), { statusCode: 409, errors: [{ pointer: '/paid' }] },
      'swapped names')

    const edited = await send('PUT', `${v2}/1/edit`, { amount: 9, paid: null }, { 'x-office': 'south' })
    t.match(edited, { amount: 9, paid: undefined, revision: 2 })
    t.match(await send('PATCH', `${v2}/1`, { amount: 10 }), { amount: 10, revision: 3 })
    t.match(await send('PATCH', `${v2}/1`, { amount: -10 }), { statusCode: 400, errors: [{ pointer: '/amount' }] })
    t.match(await send('PATCH', `${v2}/1`, { code: 'z' }), { statusCode: 400, errors: [{ pointer: '/code' }] })
    t.match(await send('PATCH', `${v2}/1`, {}, { 'x-refused': '1' }),
      { statusCode: 403, detail: '/paid', errors: [{ pointer: '/paid', detail: 'is /paid' }] }, 'as authorize says it')
    t.match(await send('PUT', `${v2}/1/pay`, { sum: 1 }),
      { statusCode: 409, detail: 'It costs 10', state: 'new at 10', allowed: ['pay', 'hand-out', 'edit'] })
    const offered = await send('GET', `${v2}/1/operations`)
    t.match(offered.items.map((each: { name: string }) => each.name), ['pay', 'hand-out', 'edit'])

    const asked = await app.inject({
      method: 'POST',
      url: `${v2}/1/hand-outs`,
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' },
      payload: '_confirm=1&_key=k-1'
    })
    t.match(asked, { statusCode: 200 })
    t.match(asked.body, /State/, 'the confirmation shows other items under the names of this version')
    t.match(await send('PUT', `${v2}/1/hand-out`, {}), { status: 'out', revision: 4 })
    t.match(await send('GET', '/rest/v2/machines/1'), { state: 'out', status: 'yard' })
    t.match(await send('PUT', `${v2}/1`, { note: true }), { note: true, revision: 5 }, 'the attribute form')

    const filtered = await send('GET', `${v2}?amount>=10&note=true&sort=-code&fields=code,amount`)
    t.strictSame(filtered.items, [{ code: 'a', amount: 10 }])
    t.match(await send('GET', `${v2}?total=10`), { statusCode: 400, detail: /total/ })
    t.match(await send('GET', `${v2}?office.regex=^x&count=exact`), { total: 0 })
    t.match((await send('GET', `${v2}?or.code=x&or.amount=10`)).items, [{ code: 'a' }])
    t.match((await send('GET', v2, undefined, { 'x-office': 'north' })).items, [])
    t.match((await send('GET', v2, undefined, { 'x-office': 'south' })).items, [{ code: 'a' }])
    t.match(await send('PUT', `${v2}/1/edit`, { amount: 1 }, { 'x-office': 'north' }), { statusCode: 404 })
    t.match((await send('GET', `${v2}/1?expand=device`)).device, { id: 1, state: 'out', status: 'yard' })
    t.match((await app.inject('/query/bookings-by-number/a')).json(), [{ number: 'a' }])

    const log = await send('GET', `${v2}/1/commands`)
    t.match(log.items.map((entry: { action: string, params: object }) => [entry.action, entry.params]), [
      ['CreateBooking', sent],
      ['EditBooking', { amount: 9, paid: null }],
      ['EditBooking', { amount: 10 }],
      ['HandOut', {}],
      ['Pay', { sum: 10 }]
    ])
    t.match((await send('GET', `${v1}/1/commands`)).items[1].params, { total: 9, note: null })
    const page = (await app.inject({ url: `${v2}/1`, headers: { accept: 'text/html' } })).body
    t.match(page, />Amount</)
    t.notMatch(page, /Total|Machine<\/|Branch/)

    for (const [index, code] of ['c', 'd', 'e', 'f', 'g'].entries()) {
      await send('POST', v2, { device: 1, code, amount: index % 3 })
    }
    const seen: string[] = []
    for (let url: string | undefined = `${v2}?maxpagesize=2`; url !== undefined;) {
      const { items, links } = await send('GET', url)
      seen.push(...items.map((each: { code: string }) => each.code))
      url = links.next
    }
    const all = (await send('GET', `${v1}?maxpagesize=100`)).items.map((each: { number: string }) => each.number)
    t.strictSame(seen, all, 'pages in the renamed order')

    const book = bookingsV2.service({ storage })
    const first = await book.run('edit', 1, { amount: 3 }, { command: 'c-1', revision: 5 })
    t.match(first, { item: { amount: 3, code: 'a' }, command: { params: { amount: 3 } }, changed: true })
    t.match(await bookings.service({ storage }).run('edit', 1, { total: 3 }, { command: 'c-1' }), { replayed: true },
      'the same command under either name')
    t.match(await book.find('amount=3'), { items: [{ code: 'a' }] })
    t.match(await book.find([{ field: 'amount', op: 'eq', values: [3] }]), { items: [{ code: 'a' }] })
    await t.rejects(book.run('edit', 1, { amount: -3 }), { code: 'invalid-body', errors: [{ pointer: '/amount' }] })
  })
}

for (const { name, make } of storages) {
  t.test(`${name}: lists of a renamed family are sent as the storage writes them`, async t => {
    const { storage, dispose } = await make()
    const { findText } = storage
    const asked: string[] = []
    const counted: Storage = {
      ...storage,
      async find (...given) {
        if (given[0] === 'machines') asked.push('find')
        return await storage.find(...given)
      },
      ...(findText && {
        async findText (...given) {
          const found = await findText.call(storage, ...given)
          asked.push(`${found.isNamed}: ${given[2]} as ${given[4]}`)
          return found
        }
      })
    }
    const app = Fastify()
    t.teardown(async () => { await app.close(); await dispose() })
    app.register(machines, { storage: counted, version: 'v1' })
    app.register(machinesV2, { storage: counted, version: 'v2' })
    const send = sender(app)
    for (const site of ['yard', 'a "b"']) await send('POST', '/rest/v1/machines', { site })
    const get = async (query: string) => {
      asked.length = 0
      const { items } = await send('GET', `/rest/v2/machines?${query}`)
      return items
    }
    const text = (members: string, fields: string) =>
      findText === undefined ? ['find'] : [`true: ${fields} as ${members}`]
    const first = { id: 1, state: 'free', status: 'yard' }
    t.match(await get('status.ne=a'), [first, { id: 2, state: 'free', status: 'a "b"' }])
    const service = 'revision,createdAt,updatedAt'
    t.strictSame(asked, text(`id,state,status,${service}`, `id,status,site,${service}`))
    t.strictSame(await get('sort=-status&fields=status,id&page=2&maxpagesize=1'), [{ status: 'a "b"', id: 2 }])
    t.strictSame(asked, text('status,id', 'site,id'))
    t.strictSame(await get('state=free&fields=state&id=1'), [{ state: 'free' }])
  })
}

for (const { name, make } of storages) {
  t.test(`${name}: a version has its own tags, and the family's feed and commands`, async t => {
    const { storage, dispose } = await make()
    const app = Fastify()
    t.teardown(async () => { await app.close(); await dispose() })
    app.register(machines, { storage, prefix: '/a' })
    app.register(machinesV2, { storage, prefix: '/b' })
    app.register(bookings, { storage, prefix: '/a' })
    app.register(bookingsV2, { storage, prefix: '/b' })
    const send = sender(app)
    const get = async (url: string, headers = {}) => {
      const { statusCode, headers: { etag }, body } = await app.inject({ url, headers })
      return { statusCode, etag: String(etag), body }
    }
    await send('POST', '/b/machines', { status: 'yard' })
    const [old, own] = [await get('/a/machines/1'), await get('/b/machines/1')]
    t.not(old.etag, own.etag, 'the same revision with other names')
    t.match(await get('/b/machines/1', { 'if-none-match': own.etag }), { statusCode: 304 })
    t.match(await get('/b/machines/1', { 'if-none-match': old.etag }), { statusCode: 200 })

    const booking = { device: 1, code: 'a', amount: 7 }
    const create = { action: 'CreateBooking', params: booking }
    const edit = { booking: 1, action: 'EditBooking', params: { amount: 8 } }
    const refused = await send('POST', '/b/rest/commands', {
      atomic: true, commands: [create, { ...edit, params: { amount: -1 } }]
    })
    t.match(refused, { statusCode: 400, errors: [{ pointer: '/commands/1/params/amount' }] })
    const missing = await send('POST', '/b/rest/commands', {
      atomic: true, commands: [create, { ...create, params: { ...booking, code: 'b', device: 9 } }]
    })
    t.match(missing, { statusCode: 400, errors: [{ pointer: '/commands/1/params/device' }] })
    t.match(missing.detail, /^\/commands\/1\/params\/device does not name/)
    const taken = await send('POST', '/b/rest/commands', { atomic: true, commands: [create, create] })
    t.match(taken, {
      statusCode: 409,
      errors: [{ pointer: '/commands/1/params/code', detail: 'is already taken, together with /office' }, {}]
    })
    t.match(await send('GET', '/a/bookings'), { items: [] }, 'none of them is done')
    const done = await send('POST', '/b/rest/commands', { atomic: true, commands: [create, { ...edit, id: 'c-1' }] })
    t.match(done.items.map(({ item }: { item: object }) => item), [{ amount: 7 }, { amount: 8, device: 1 }])
    t.match(await send('POST', '/a/rest/commands', {
      commands: [{ booking: 1, action: 'EditBooking', params: { total: 8 }, id: 'c-1' }]
    }), { items: [{ replayed: true, item: { total: 8 } }] }, 'the same command under either name')

    for (const [prefix, params] of [['/a', { total: 8 }], ['/b', { amount: 8 }]] as const) {
      const feeds = await Promise.all(['/rest/commands', '/bookings/commands'].map(async url =>
        (await send('GET', `${prefix}${url}?action=EditBooking`)).items))
      for (const items of feeds) t.strictSame(items.map((entry: { params: object }) => entry.params), [params])
    }
    const found = await send('GET', '/b/bookings?device=1&expand=device&sort=-amount')
    t.match(found, { items: [{ device: { status: 'yard' } }] })
    t.match(await send('GET', '/b/bookings?machine=1'), { statusCode: 400, errors: [{ parameter: 'machine' }] })
    const { body } = await get('/b/bookings/1', { accept: 'text/html' })
    t.match(body, /name="amount"/)
    t.notMatch(body, /name="total"/)
  })
}

t.test('names can be renamed again; mistakes are errors', async t => {
  const storage = memoryStorage()
  const { item } = await deals.service({ storage }).create({ name: 'tea', price: 3 })
  const titled = deals.rename({ name: 'title' }).rename({ title: 'label', price: 'name' })
  t.match(await titled.service({ storage }).get(item.id), { label: 'tea', name: 3, title: undefined, price: undefined })

  const rename = (names: unknown) => () => deals.rename(names as { name: 'x' })
  const code = 'FST_DEALBOOK_INVALID_RENAMING'
  t.throws(rename({ nam: 'x' }), { code, message: /"nam" is not a field. Did you mean "name"/ })
  t.throws(rename({ id: 'x' }), { code, message: /the id cannot be renamed/ })
  t.throws(rename({ name: 'price' }), { code, message: /two fields would be called "price"/ })
  t.throws(rename({ name: 'x', price: 'x' }), { code, message: /two fields would be called "x"/ })
  t.throws(rename({ name: 7 }), { code, message: /must be a string/ })
  t.throws(rename('name'), { code, message: /give the new names by the old ones/ })
  t.throws(rename({ name: 'page' }), { message: /query parameter/ })
  t.throws(() => titled.extend({}), { message: /extend the family before you rename it/ })
  await t.rejects(loadItems(storage, titled, []), { message: /load items into the family itself/ })
  const fields = Type.Object({ id: Type.Integer(), machine: Type.Integer() })
  const go = { ...words('go'), params: Type.Object({}), apply: (visit: object) => visit }
  for (const given of [
    { references: { machine: machinesV2 } },
    { operations: { go: { ...go, with: { m: { family: machinesV2, id: () => 1 } } } } },
    { operations: { go: { ...go, creates: { m: machinesV2 } } } }
  ]) {
    const visits = { name: 'visits', singular: 'visit', fields, create: ['machine'], ...given }
    t.throws(() => defineFamily(visits as never), { message: /give the family itself, not a renamed one/ })
  }
})

for (const { name, make } of storages) {
  t.test(`renamed decimals are in the order of numbers, ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const bills = defineFamily({
      name: 'bills',
      singular: 'bill',
      fields: Type.Object({ id: Type.Integer(), total: decimal({ scale: 2 }) }),
      order: ['total'],
      create: ['total']
    })
    const book = bills.rename({ total: 'amount' }).service({ storage })
    for (const amount of ['9', '10', '-3', '100']) await book.create({ amount })
    const listed = async (sort?: string) => {
      const seen: string[] = []
      for (let after: string | undefined, more = true; more;) {
        const page = await book.find('', { limit: 1, ...(sort && { sort }), ...(after && { after }) })
        seen.push(...page.items.map(({ amount }) => amount))
        after = page.next
        more = page.hasNext
      }
      return seen
    }
    t.strictSame(await listed(), ['-3.00', '9.00', '10.00', '100.00'])
    t.strictSame(await listed('-amount'), ['100.00', '10.00', '9.00', '-3.00'])
  })
}

t.test('a renamed definition keeps its tables and onMount, and may have members without a value', async t => {
  const kept = { tables: [], onMount () {}, lables: undefined }
  const notes = defineFamily({
    name: 'notes', singular: 'note', fields: Type.Object({ id: Type.Integer(), text: Type.String() }), ...kept
  })
  const { definition: { tables, onMount } } = notes.rename({ text: 'body' })
  t.ok(tables === kept.tables && onMount === kept.onMount)
})

t.test('a new name that only another version has is not shown', async t => {
  const storage = memoryStorage()
  const extended = deals.extend({ fields: Type.Object({ title: Type.Optional(Type.String()) }), edit: ['title'] })
  const { item: { id } } = await extended.service({ storage }).create({ name: 'tea', price: 3 })
  await extended.service({ storage }).run('edit', id, { title: 'veiled' })
  await extended.service({ storage }).run('edit', id, { name: 'milk', title: 'veiled too' })
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(deals.rename({ name: 'title' }), { storage, version: 'v2' })
  const url = `/rest/v2/deals/${id}/commands`
  const params = (await app.inject(url)).json().items.map((entry: { params: object }) => entry.params)
  t.strictSame(params, [{ title: 'tea', price: 3 }, {}, { title: 'milk' }])
  const { body } = await app.inject({ url, headers: { accept: 'text/html' } })
  t.match(body, 'milk')
  t.notMatch(body, 'veiled')
})

t.test('problems of a renamed family point to what was sent', async t => {
  const storage = memoryStorage()
  const visits = defineFamily({
    name: 'visits',
    singular: 'visit',
    fields: Type.Object({ id: Type.Integer(), machine: Type.Integer(), notes: Type.Optional(Type.Any()) }),
    references: { machine: machines },
    create: ['machine', 'notes'],
    operations: {
      move: {
        ...words('move'),
        params: Type.Object({ machine: Type.Integer() }),
        with: { to: { family: machines, id: ({ machine }) => machine } },
        allowed: visit => visit.notes !== 'full' || 'See GET /notes',
        apply (visit) {
          if (visit.machine === 1) return { ...visit, machine: 2 }
          const errors = [{ pointer: '/notes/a b.c', detail: 'is wrong' }, { pointer: '/machine', detail: 'is near' }]
          throw new Problem('wrong-state', 'No', { errors })
        }
      }
    }
  })
  for (const site of ['a', 'b']) await machines.service({ storage }).create({ site })
  const book = visits.rename({ machine: 'device', notes: 'texts' }).service({ storage })
  await book.create({ device: 1 })
  await t.rejects(book.run('move', 1, { machine: 9 }),
    { message: '/machine does not name an existing machine', errors: [{ pointer: '/machine' }] })
  await book.run('move', 1, { machine: 2 })
  for (const command of ['new', 'new']) {
    await t.rejects(book.run('move', 1, { machine: 1 }, { command }),
      { errors: [{ pointer: '/texts/a b.c' }, { pointer: '/machine' }] })
  }
  const { items } = await book.log(1)
  t.match(items.at(-1)?.['problem'], { errors: [{ pointer: '/texts/a b.c' }, { pointer: '/machine' }] })
  const { item: { id } } = await book.create({ device: 1, texts: 'full' })
  await t.rejects(book.run('move', id, { machine: 2 }, { command: 'full' }), { message: 'See GET /notes' })
  t.match((await book.log(id)).items.at(-1)?.['problem'], { detail: 'See GET /notes' }, 'a text is left as it is')
})

t.test('other items of a command have its names of this version', async t => {
  const storage = memoryStorage()
  const app = Fastify()
  t.teardown(() => app.close())
  const seen: object[] = []
  app.register(machines, {
    storage,
    version: 'v2',
    authorize: (_request, { action, params }: Intent) => { if (action !== 'read') seen.push({ action, params }) },
    onCommitted: ({ action, params }) => { seen.push({ action, params, committed: true }) }
  })
  app.register(bookings, { storage, version: 'v1' })
  app.register(bookingsV2, { storage, version: 'v2' })
  const send = sender(app)
  await send('POST', '/rest/v2/machines', { site: 'yard' })
  seen.length = 0
  const params = { device: 1, code: 'a', amount: 7, paid: 'cash' }
  await send('POST', '/rest/v2/bookings', params)
  const action = 'CreateBooking'
  t.strictSame(seen, [{ action, params }, { action, params, committed: true }])

  const log = '/rest/v2/machines/1/commands'
  const { items: [, entry] } = await send('GET', log)
  t.match(entry, { action, about: { family: 'bookings', id: 1 } })
  t.strictSame(entry.params, params)
  t.strictSame((await send('GET', `${log}/${entry.id}`)).params, params)
  for (const url of ['/rest/v2/machines/1', log, `${log}/${entry.id}`]) {
    const { body } = await app.inject({ url, headers: { accept: 'text/html' } })
    t.match(body, /Amount/, url)
    t.notMatch(body, /Total/, url)
  }
})

t.test('a constraint of another item is not about fields of this one', async t => {
  const storage = memoryStorage()
  const fields = Type.Object({ id: Type.Integer(), number: Type.Integer() })
  const bills = defineFamily({ name: 'bills', singular: 'bill', fields, create: ['number'], unique: [['number']] })
  const orders = defineFamily({
    name: 'orders',
    singular: 'order',
    fields,
    create: ['number'],
    operations: {
      charge: {
        ...words('charge'),
        params: Type.Object({}),
        creates: { bill: bills },
        apply: order => ({ item: order, created: { bill: { number: 7 } } })
      }
    }
  })
  const book = orders.rename({ number: 'code' }).service({ storage })
  await book.create({ code: 1 })
  await book.run('charge', 1)
  await t.rejects(book.run('charge', 1), { code: 'taken', errors: [{ pointer: '/number' }] })
})

t.test('secrets, and the items of commands that ran before, have the names of this version', async t => {
  const storage = memoryStorage()
  const keys = defineFamily({
    name: 'keys',
    singular: 'key',
    fields: Type.Object({ id: Type.Integer(), label: Type.String(), pin: Type.String({ writeOnly: true }) }),
    create: ['label', 'pin'],
    edit: ['label', 'pin']
  })
  type Calls = Readonly<Record<'create' | 'run' | 'remove' | 'runAll', (...parameters: unknown[]) => Promise<any>>>
  const [base, book] = [keys, keys.rename({ label: 'title', pin: 'code' })]
    .map(family => family.service({ storage }) as unknown as Calls)
  const members = (item: object | undefined) => {
    const { id, revision, createdAt, updatedAt, ...own } = item as Record<string, unknown>
    return own
  }
  const create = (params: object) => [{ operation: 'create', params }]
  t.strictSame(members((await book!.create({ title: 'a', code: '1' })).item), { title: 'a', code: '1' })
  const [alone] = await book!.runAll(create({ title: 'b', code: '2' }), { atomic: true })
  t.strictSame(members(alone.item), { title: 'b', code: '2' })
  const [other] = await base!.runAll(create({ label: 'c', pin: '3' }), { atomic: true })
  t.strictSame(members(other.item), { label: 'c', pin: '3' })
  for (const replayed of [false, true]) {
    const done = await book!.run('edit', 1, { title: 'd' }, { command: 'c-1' })
    t.match(done, { replayed })
    t.strictSame(members(done.item), { title: 'd' }, 'a secret is shown by the command that sets it')
  }
  for (const [code, expected] of [['4', { replayed: false }], ['4', { replayed: true }], ['5', 'id-reused']] as const) {
    const again = book!.create({ title: 'e', code }, { key: 'k-1' })
    t.match(await again.catch((problem: { code: string }) => problem.code), expected, 'a secret is part of a command')
  }
  t.match(await book!.run('edit', 1, { title: 'd' }), { changed: false, item: { title: 'd', code: undefined } })
  t.match(await book!.remove(1), { changed: true })
})

t.test('a grant, a precondition and a repetition have the names of this version', async t => {
  const storage = memoryStorage()
  const notes = defineFamily({
    name: 'notes',
    singular: 'note',
    fields: Type.Object({ id: Type.Integer(), text: Type.String(), hue: Type.Optional(Type.String()) }),
    create: ['text', 'hue'],
    edit: ['text']
  })
  await notes.service({ storage }).create({ text: 'hidden' })
  const asked: object[] = []
  const book = notes.rename({ text: 'hue', hue: 'text' }).service({
    storage,
    authorize (_call, { action, params }) {
      if (action !== 'read') asked.push({ action, params })
      return { where: [{ field: 'hue', op: 'ne', values: ['hidden'] }] }
    }
  })
  for (const replayed of [false, true]) {
    const made = await book.create({ hue: 'a', text: 'b' }, { key: 'k' })
    t.match(made, { replayed, item: { hue: 'a', text: 'b' }, command: { params: { hue: 'a', text: 'b' } } })
  }
  await t.rejects(book.run('edit', 2, { hue: 'c' }, { revision: 7 }), { code: 'precondition-failed' })
  t.match(await book.run('edit', 2, { hue: 'c' }, { revision: 1 }), { item: { hue: 'c', text: 'b' } })
  await t.rejects(book.run('edit', 1, { hue: 'c' }), { code: 'not-found', message: /1/ })
  await t.rejects(book.run('edit', 2, { hue: 'hidden' }), { code: 'forbidden' })
  const create = { action: 'CreateNote', params: { hue: 'a', text: 'b' } }
  const edit = { action: 'EditNote', params: { hue: 'c' } }
  t.strictSame(asked, [create, create, edit, edit, edit, { ...edit, params: { hue: 'hidden' } }])
  t.strictSame((await book.log(2)).items.map(({ params }) => params), [create.params, edit.params])
})

t.test('pointers have the names of this version, and texts of the host stay as they are', async t => {
  const refuse = (text: string) => {
    throw new Problem('wrong-state', text, { errors: [{ pointer: '/total', detail: 'see /total' }] })
  }
  const params = Type.Object({})
  const bills = defineFamily({
    name: 'bills',
    singular: 'bill',
    fields: Type.Object({ id: Type.Integer(), total: Type.Integer(), size: Type.Integer({ default: 1 }) }),
    create: ['total'],
    edit: ['size'],
    constraints: { odd: { detail: 'A /total is even', pointers: ['/total'] }, huge: 'The /total is huge' },
    operations: {
      pay: { ...words('pay'), params, apply: () => refuse('Lower /total, or /size') },
      close: {
        ...words('close'), params, apply: () => { throw invalidBody([{ pointer: '/total', detail: 'is /total' }]) }
      },
      wait: { ...words('wait'), params, apply: bill => ({ ...bill, size: 2 }), allowed: () => 'Because of /total' },
      grow: { ...words('grow'), params, apply: bill => ({ ...bill, size: 7 }) }
    }
  })
  const memory = memoryStorage()
  const storage: Storage = {
    ...memory,
    async commit (changes) {
      const [change] = changes
      if (change?.type === 'insert' && change.family === 'bills') {
        const { total } = change.item as unknown as { total: number }
        const constraint = total > 100 ? 'huge' : 'odd'
        const refuse = (options: ConstraintOptions) => new ConstraintError('bills', change.item.id, 'value', options)
        if (total % 2 === 1) throw refuse({ fields: ['total'], constraint })
        if (total === 0) throw refuse({ fields: ['total', 'size'] })
      }
      await memory.commit(changes)
    }
  }
  const book = bills.rename({ total: 'size', size: 'total' }).service({ storage })
  await book.create({ size: 2 })
  const flaws = { errors: [{ pointer: '/size', detail: 'see /total' }] }
  const refused = { code: 'wrong-state', message: 'Lower /total, or /size', ...flaws }
  await t.rejects(book.run('pay', 1, {}, { command: 'c-1' }), { ...refused, replayed: false })
  await t.rejects(book.run('pay', 1, {}, { command: 'c-1' }), { ...refused, replayed: true })
  await t.rejects(book.preview('pay', 1), refused)
  await t.rejects(book.runAll([{ operation: 'pay', id: 1 }], { atomic: true }), {
    message: '/commands/0: Lower /total, or /size',
    errors: [{ pointer: '/commands/0/params/size', detail: 'see /total' }]
  })
  t.match((await book.log(1)).items.at(-1), { problem: { detail: 'Lower /total, or /size', ...flaws } })
  const ours = { message: '/size is /total', errors: [{ pointer: '/size', detail: 'is /total' }] }
  await t.rejects(book.run('close', 1), ours, 'a text that begins with the pointer still does')
  await t.rejects(book.run('wait', 1), { message: 'Because of /total' })
  t.match((await book.offers(1)).find(({ name }) => name === 'wait'), { reason: 'Because of /total' })
  await t.rejects(book.create({ size: 1 }), {
    code: 'constraint', message: 'A /total is even', errors: [{ pointer: '/size', detail: 'A /total is even' }]
  })
  await t.rejects(book.create({ size: 101 }), { code: 'constraint', message: 'The /total is huge', errors: undefined })
  await t.rejects(book.create({ size: 0 }), {
    code: 'constraint',
    message: 'The database does not allow this: /size has a value that is not allowed, together with /total. ' +
      'Nothing was done',
    errors: [
      { pointer: '/size', detail: 'has a value that is not allowed, together with /total' },
      { pointer: '/total', detail: 'has a value that is not allowed, together with /size' }
    ]
  })
})
