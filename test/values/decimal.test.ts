import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import type { Condition, Grant, Storage } from '../../lib/index.js'
import { decimal, defineFamily, defineQuery, memoryStorage, Type } from '../../lib/index.js'
import { copyStorage, loadItems } from '../../lib/tools/index.js'
import { storages } from '../storages.js'

const invoices = defineFamily({
  name: 'invoices',
  singular: 'invoice',
  fields: Type.Object({
    id: Type.Integer(),
    total: decimal({ scale: 2, minimum: -1000, maximum: '9999999999999.99', description: 'In euros' }),
    tax: Type.Optional(decimal({ scale: 3 })),
    paid: decimal({ scale: 2, default: 0 }),
    discount: Type.Union([decimal({ scale: 1 }), Type.Null()]),
    pieces: Type.Optional(decimal({ scale: 0 })),
    lines: Type.Optional(Type.Array(Type.Object({ price: decimal({ scale: 2 }) })))
  }),
  create: ['total', 'tax', 'discount', 'pieces', 'lines'],
  edit: ['tax'],
  unique: [['total', 'pieces']],
  indexes: ['total'],
  order: ['-total'],
  operations: {
    pay: {
      name: 'pay',
      verb: 'pay',
      participle: 'paid',
      noun: 'payments',
      action: 'PayInvoice',
      params: Type.Object({ amount: decimal({ scale: 2, minimum: '0.01' }) }),
      changes: ['paid'],
      apply: (invoice, { amount }) => ({ ...invoice, paid: addUp(invoice.paid, amount) as string })
    }
  },
  queries: { 'invoices-by-total': defineQuery({ field: 'total' }) }
})

/** Of 100, a number; of 200, a text without digits after the point; of 300, what no decimal can be. */
function addUp (paid: string, amount: string): unknown {
  const sum = (Math.round(Number(paid) * 100) + Math.round(Number(amount) * 100)) / 100
  return sum === 200 ? '200' : sum === 300 ? 300.001 : sum
}

async function openApp (t: Test, storage: Storage, grant?: Grant) {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(invoices, { storage, ...(grant === undefined ? {} : { authorize: () => grant }) })
  await app.ready()
  const find = async (search: string): Promise<string[]> => {
    const { items } = (await app.inject(`/invoices?${search}`)).json()
    return items.map(({ total }: { total: string }) => total)
  }
  const post = async (payload: object, url = '/invoices') => await app.inject({ method: 'POST', url, payload })
  return { app, find, post }
}

interface Page {
  readonly items: readonly { readonly total: string }[]
  readonly links: { readonly next?: string, readonly prev?: string }
}

const base = { discount: null }

for (const { name, make } of storages) {
  t.test(`${name}: decimals are read, stored and shown in one form`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const { app, post } = await openApp(t, storage)
    const spellings: [unknown, string][] = [
      ['19.99', '19.99'], [19.99, '19.99'], [19.9, '19.90'], ['19.9', '19.90'], ['7', '7.00'], [7, '7.00'],
      ['-3.5', '-3.50'], [-3.5, '-3.50'], ['-0', '0.00'], ['-0.00', '0.00'], [-0, '0.00'], [0.29, '0.29'],
      ['9999999999999.99', '9999999999999.99'], [9999999999999.98, '9999999999999.98'], [1e3, '1000.00']
    ]
    for (const [sent, shown] of spellings) {
      const made = await post({ ...base, total: sent })
      t.equal(made.statusCode, 201, `${JSON.stringify(sent)} ${made.body}`)
      t.equal(made.json().total, shown)
      t.equal((await app.inject(made.headers['location'] as string)).json().total, shown)
    }
    const made = await post({ total: '1.00', tax: 0.125, discount: '0.5', pieces: 7, lines: [{ price: 1.5 }] })
    t.match(made.json(), { tax: '0.125', paid: '0.00', discount: '0.5', pieces: '7', lines: [{ price: '1.50' }] })

    const wrong = [
      '19.999', 19.999, '019.99', '+1', '1e2', ' 1', '1 ', '', '.5', '5.', '1,5', '-', 'NaN', true, [], {}, 1e13,
      '10000000000000', 0.295
    ]
    for (const total of wrong) {
      const { statusCode, body } = await post({ ...base, total })
      t.equal(statusCode, 400, JSON.stringify(total))
      t.match(JSON.parse(body).errors, [{
        pointer: '/total', detail: /^must be a decimal number with at most 2 digits after the point.* such as "19.99"$/
      }])
    }
    const flaws: [object, string, string | RegExp][] = [
      [{ total: '-1000.01' }, '/total', 'must be at least -1000.00'],
      [{ total: null }, '/total', /^must be a decimal number/],
      [{ total: '1', discount: '0.55' }, '/discount', /^must be a decimal number with at most 1 digit after/],
      [{ total: '1', pieces: '1.0' }, '/pieces', /with no digit after the point.* such as "20"$/],
      [{ total: '1', lines: [{ price: '1.555' }] }, '/lines/0/price', /^must be a decimal number with at most 2 digits/]
    ]
    for (const [sent, pointer, detail] of flaws) {
      t.match((await post({ ...base, ...sent })).json().errors, [{ pointer, detail }])
    }
  })

  t.test(`${name}: what rules return gets the form, or is an error that names the field`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const { app, post } = await openApp(t, storage)
    await post({ ...base, total: 300 })
    const pay = async (amount: unknown) =>
      await app.inject({ method: 'PUT', url: '/invoices/1/pay', payload: { amount } })
    t.equal((await pay(100)).json().paid, '100.00')
    t.equal((await pay('100.0')).json().paid, '200.00')
    t.match((await pay(0)).json(), { errors: [{ pointer: '/amount', detail: 'must be at least 0.01' }] })
    const failed = await pay('100')
    t.equal(failed.statusCode, 500)
    await t.rejects(invoices.service({ storage }).run('pay', 1, { amount: '100' }), {
      code: 'FST_DEALBOOK_INVALID_ITEM', message: /\/paid must be a decimal number with at most 2 digits/
    })
    const { items: [first] } = (await app.inject('/invoices/1/commands')).json()
    t.match(first.params, { total: '300.00' })
    const patched = await app.inject({
      method: 'PATCH',
      url: '/invoices/1',
      payload: { tax: 1.5 },
      headers: { 'content-type': 'application/merge-patch+json' }
    })
    t.equal(patched.json().tax, '1.500')
  })

  t.test(`${name}: decimals are filtered, ordered and unique as numbers`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const { app, find, post } = await openApp(t, storage)
    for (const [index, total] of ['9.00', '10.00', '-3.50', '-20.00', '100.00', '0.10', '19.90'].entries()) {
      const { statusCode } = await post({ ...base, total, ...(index < 3 ? { tax: index - 0.5, pieces: 1 } : {}) })
      t.equal(statusCode, 201)
    }
    const table: [string, string[]][] = [
      ['', ['100.00', '19.90', '10.00', '9.00', '0.10', '-3.50', '-20.00']],
      ['sort=total', ['-20.00', '-3.50', '0.10', '9.00', '10.00', '19.90', '100.00']],
      ['sort=total&tax.null=false', ['-3.50', '9.00', '10.00']],
      ['sort=tax', ['-20.00', '100.00', '0.10', '19.90', '9.00', '10.00', '-3.50']],
      ['sort=-tax', ['-3.50', '10.00', '9.00', '-20.00', '100.00', '0.10', '19.90']],
      ['total=19.9', ['19.90']],
      ['total=19.9&total=9', ['19.90', '9.00']],
      ['total>=10', ['100.00', '19.90', '10.00']],
      ['min-total=10&max-total=19.90', ['19.90', '10.00']],
      ['total.gt=-3.5&total<9.00', ['0.10']],
      ['total.lt=-3.49', ['-3.50', '-20.00']],
      ['total.ne=9&total.ne=100&total>0', ['19.90', '10.00', '0.10']],
      ['tax.ne=0.5', ['100.00', '19.90', '9.00', '0.10', '-3.50', '-20.00']],
      ['or.total=9.0&or.total.gt=99.99', ['100.00', '9.00']],
      ['total.regex=^1.*0$', ['100.00', '19.90', '10.00']],
      ['total.regex=^1.*0$&total>10&total.ne=100', ['19.90']],
      ['total.has=3.50', ['-3.50']],
      ['total.has=0&total=10', ['10.00']]
    ]
    for (const [search, expected] of table) t.same(await find(search), expected, search)
    for (const search of ['total=1.999', 'total>=x', 'min-total=01', 'or.total=1e2', 'total.ne=+1']) {
      const { statusCode, body } = await app.inject(`/invoices?${search}`)
      t.equal(statusCode, 400, search)
      t.match(JSON.parse(body).errors, [{ parameter: /total/, detail: /must be a decimal number with at most 2 d/ }])
    }
    for (const sort of ['total', '-total', 'tax', '-tax', 'paid,-total']) {
      const whole = await find(`sort=${sort}`)
      const walked: string[] = []
      let url: string | undefined = `/invoices?sort=${sort}&maxpagesize=2`
      let last = ''
      // A walk in a circle ends too.
      while (url !== undefined && walked.length < 50) {
        const page: Page = (await app.inject(url)).json()
        walked.push(...page.items.map(({ total }) => total))
        last = page.links.prev ?? last
        url = page.links.next
      }
      t.same(walked, whole, sort)
      t.same((await app.inject(last)).json().items.map(({ total }: { total: string }) => total), whole.slice(4, 6))
    }
    t.match((await post({ ...base, total: 9, pieces: '1' })).json(), { type: 'urn:dealbook:problem:taken' })
    t.equal((await app.inject('/query/invoices-by-total/19.9')).json().length, 1)
    t.match((await app.inject('/query/invoices-by-total/19.999')).json(), { errors: [{ parameter: 'total' }] })

    const where: Condition[] = [
      { field: 'total', op: 'gte', value: '9.5' }, { field: 'total', op: 'ne', values: [100] }
    ]
    const guarded = await openApp(t, storage, { where })
    t.same(await guarded.find('sort=total'), ['10.00', '19.90'])
    t.equal((await guarded.app.inject('/invoices/1')).statusCode, 404)
    t.equal((await guarded.app.inject('/invoices/2')).statusCode, 200)
    t.equal((await guarded.app.inject('/invoices/5')).statusCode, 404)
    const book = invoices.service({ storage })
    const { items } = await book.find([{ op: 'any', of: [[{ field: 'total', op: 'eq', values: ['19.9', 9] }]] }])
    t.same(items.map(({ total }) => total), ['19.90', '9.00'])
    await t.rejects(book.find([{ field: 'total', op: 'gt', value: '1.999' }]), { code: 'invalid-query' })
  })

  t.test(`${name}: every representation`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const { app, post } = await openApp(t, storage)
    await post({ ...base, total: -1000, tax: '0.5' })
    await post({ ...base, total: 1234567.5 })
    const read = async (url: string, accept: string) => (await app.inject({ url, headers: { accept } })).body
    t.match(await read('/invoices', 'text/csv'), /\r\n2,1234567\.50,,0\.00,[^']*\r\n1,-1000\.00,0\.500,/)
    t.match(await read('/invoices/1', 'application/xml'), '<total>-1000.00</total>')
    t.match(await read('/invoices', 'application/x-ndjson'), '"total":"-1000.00"')
    const list = await read('/invoices', 'text/html')
    t.match(list, 'data-label="Total"><div dir="auto"><span class="number">1,234,567.50</span></div>')
    t.match(list, /<input id="create-total" name="total" required[^>]* type="text" inputmode="decimal">/)
    t.match(await read('/invoices/1', 'text/html'), '<span class="number">-1,000.00</span>')
    const sent = await app.inject({
      method: 'POST',
      url: '/invoices',
      payload: 'total=5.5&tax=1&discount=',
      headers: {
        'content-type': 'application/x-www-form-urlencoded', accept: 'application/json'
      }
    })
    t.match(sent.json(), { total: '5.50', tax: '1.000', discount: null })
    const wrong = await app.inject({
      method: 'POST',
      url: '/invoices',
      payload: 'total=5.555',
      headers: {
        'content-type': 'application/x-www-form-urlencoded', accept: 'application/json'
      }
    })
    t.match(wrong.json(), { errors: [{ pointer: '/total', detail: /at most 2 digits after the point/ }] })
  })

  t.test(`${name}: a field that is added, and tools`, async t => {
    const { storage, another, dispose } = await make()
    t.teardown(dispose)
    const before = defineFamily({
      name: 'bills',
      singular: 'bill',
      fields: Type.Object({ id: Type.Integer(), note: Type.String() }),
      create: ['note']
    })
    const after = defineFamily({
      name: 'bills',
      singular: 'bill',
      fields: Type.Object({ id: Type.Integer(), note: Type.String(), fee: decimal({ scale: 2, default: '1.5' }) }),
      create: ['note', 'fee'],
      indexes: ['fee']
    })
    await before.service({ storage }).create({ note: 'a' })
    const opened = another?.() ?? storage
    t.match(await after.service({ storage: opened }).get(1), { fee: '1.50' })
    await loadItems(opened, after, [{ id: 2, note: 'b', fee: 2 }, { id: 3, note: 'c', fee: '10.2' }])
    await t.rejects(loadItems(opened, after, [{ id: 4, note: 'b', fee: 0.001 }]), {
      code: 'FST_DEALBOOK_INVALID_LOAD', message: /\/fee must be a decimal number/
    })
    const copied = memoryStorage()
    await copyStorage(opened, copied, { families: [after] })
    const { items } = await after.service({ storage: copied }).find('sort=-fee')
    t.same(items.map(({ fee }) => fee), ['10.20', '2.00', '1.50'])
    const other = defineFamily({
      name: 'bills',
      singular: 'bill',
      fields: Type.Object({ id: Type.Integer(), note: Type.String(), fee: decimal({ scale: 3, default: '1.5' }) })
    })
    await t.rejects(other.service({ storage: another?.() ?? opened }).get(1), { code: /COLUMN_TYPE|FIELD_KIND/ })
  })
}

t.test('OpenAPI: a text with a pattern, and a number too where it is sent', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, {
    openapi: { openapi: '3.1.0' }, refResolver: { buildLocalReference: json => String(json.$id) }
  })
  app.register(invoices, { storage: memoryStorage() })
  await app.ready()
  const { components, paths } = app.swagger() as any
  const { Invoice, NewInvoice, PayInvoiceParams, PayInvoiceProperties, EditInvoiceProperties, InvoiceChanges } =
    Object.fromEntries(Object.entries<any>(components.schemas).map(([name, schema]) =>
      [name.split('.').at(-1), schema.properties]))
  const text = { type: 'string', format: 'decimal', pattern: '^-?(0|[1-9][0-9]*)\\.[0-9]{2}$', minimum: -1000 }
  t.match(Invoice.total, { ...text, description: 'In euros', examples: ['19.99'] })
  t.match(NewInvoice.total, { description: 'In euros', anyOf: [text, { type: 'number' }] })
  t.match(NewInvoice.discount.anyOf, [{ format: 'decimal' }, { type: 'null' }, { type: 'number' }])
  for (const sent of [PayInvoiceParams.amount, PayInvoiceProperties.amount]) {
    t.match(sent.anyOf, [{ format: 'decimal' }, { type: 'number' }])
  }
  for (const sent of [EditInvoiceProperties.tax, InvoiceChanges.tax]) {
    t.match(sent.anyOf, [{ format: 'decimal' }, { type: 'null' }, { type: 'number' }])
  }
  const named = paths['/invoices'].get.parameters.find(({ name }: { name: string }) => name === 'min-total')
  t.match(named.schema, { type: 'string', format: 'decimal' })
})

t.test('wrong options of decimal are named', async t => {
  const table: [object | undefined, RegExp][] = [
    [undefined, /must be an object with scale/],
    [{}, /the option "scale" is missing; it must be an integer from 0 to 15/],
    [{ scale: 16 }, /the option "scale" must be an integer from 0 to 15/],
    [{ scale: 2, max: 1 }, /unknown option "max"/],
    [{ scale: 2, minimum: 0.001 }, /the option "minimum" must be .* at most 2 digits after the point and 15 in all/],
    [{ scale: 2, maximum: '10000000000000' }, /the option "maximum" .* 15 in all/],
    [{ scale: 2, minimum: 2, maximum: 1 }, /"minimum" is above "maximum"/],
    [{ scale: 2, default: '1,5' }, /the option "default"/],
    [{ scale: 2, examples: '1' }, /the option "examples" must be a list/]
  ]
  for (const [options, message] of table) {
    const code = 'FST_DEALBOOK_INVALID_DECIMAL'
    t.throws(() => decimal(options as never), { code, message }, JSON.stringify(options))
  }
  t.throws(() => defineFamily({
    name: 'a', singular: 'b', fields: Type.Object({ id: Type.Integer(), c: Type.String({ format: 'decimal' }) })
  }), { message: /"c" is a decimal without a scale; write decimal\({ scale: 2 }\)/ })
  t.throws(() => defineFamily({
    name: 'a',
    singular: 'b',
    fields: Type.Object({ id: Type.Integer(), c: decimal({ scale: 2, minimum: '1', default: '0.5' }) })
  }), { message: /the default of the field "c" must be at least 1.00/ })
  t.same(decimal({ scale: 1, minimum: 30 }).examples, ['30.0'])
  t.same(decimal({ scale: 15 }).examples, ['0.500000000000000'])
})

t.test('a multiple of 0.01 is what people write', async t => {
  const app = Fastify()
  const prices = defineFamily({
    name: 'prices',
    singular: 'price',
    fields: Type.Object({
      id: Type.Integer(),
      price: Type.Optional(Type.Number({ multipleOf: 0.01 })),
      pieces: Type.Optional(Type.Integer({ multipleOf: 5 })),
      thin: Type.Optional(Type.Number({ multipleOf: 0.0027 }))
    }),
    create: ['price', 'pieces', 'thin']
  })
  t.teardown(() => app.close())
  app.register(prices, { storage: memoryStorage() })
  const post = async (payload: object) => await app.inject({ method: 'POST', url: '/prices', payload })
  for (const price of [0.29, 1.13, 19.99, 0, -0.07, 1e-2, 4503599627370.49, 8.2e15, 100]) {
    t.equal((await post({ price })).statusCode, 201, String(price))
  }
  for (const price of [0.295, 1e-7, 0.001, 19.999]) {
    t.match((await post({ price })).json().errors, [{ pointer: '/price', detail: 'must be multiple of 0.01' }])
  }
  t.equal((await post({ pieces: 10 })).statusCode, 201)
  t.equal((await post({ pieces: 11 })).statusCode, 400)
  t.equal((await post({ thin: 274185110472.9975 })).statusCode, 201)
  t.equal((await post({ thin: 274185110473 })).statusCode, 400)
})
