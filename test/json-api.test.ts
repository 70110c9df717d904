import type { InjectOptions } from 'fastify'
import t from 'tap'
import { buildApp } from '../examples/json-api.js'
import { storages } from './storages.js'

const mediaType = 'application/vnd.api+json'

interface Document {
  readonly data: any
  readonly included?: readonly any[]
  readonly links: Readonly<Record<string, string>>
  readonly errors: readonly any[]
}

for (const { name, make } of storages) {
  t.test(`a front end by JSON:API, on ${name}`, async t => {
    const { storage, dispose } = await make()
    const app = buildApp(storage, () => new Date('2026-03-03T12:00:00Z'))
    t.teardown(async () => {
      await app.close()
      await dispose()
    })
    const ask = async (method: InjectOptions['method'], url: string, data?: object, headers: object = {}) => {
      const response = await app.inject({
        method: method as 'GET',
        url: `/api${url}`,
        headers: { authorization: 'Bearer ann-secret', ...data && { 'content-type': mediaType }, ...headers },
        ...data && { payload: JSON.stringify(data) }
      })
      const { statusCode: status, body } = response
      if (body !== '') t.equal(response.headers['content-type'], mediaType, url)
      return { status, headers: response.headers, ...(body === '' ? {} : JSON.parse(body)) as Document }
    }
    const machine = (name: string, rate: string) => ({ data: { type: 'machines', attributes: { name, rate } } })
    const key = { 'idempotency-key': 'm-1' }
    const made = await ask('POST', '/machines', machine('Digger', '10.00'), key)
    t.match(made, { status: 201, data: { type: 'machines', attributes: { name: 'Digger', status: 'available' } } })
    const { id } = made.data
    t.match(await ask('POST', '/machines', machine('Digger', '10.00'), key), { status: 200, data: { id } })
    t.match(await ask('POST', '/machines', machine('Digger', '1.00')), { status: 409, errors: [{ code: 'taken' }] })
    for (const [name, rate] of [['Crane', '50.00'], ['Ladder', '2.00']] as const) {
      t.match(await ask('POST', '/machines', machine(name, rate)), { status: 201 })
    }
    const self: string = made.data.links.self.replace('/api', '')

    const first = await ask('GET', '/machines?filter[rate.gte]=5&sort=-rate&page[size]=1&page[total]=true')
    t.match(first, { status: 200, data: [{ attributes: { name: 'Crane' } }], meta: { total: 2 } })
    const second = await ask('GET', (first.links.next as string).replace('/api', ''))
    t.match(second.data.map((each: Document['data']) => each.attributes.name), ['Digger'])
    t.notOk(second.links.next)
    t.strictSame(Object.keys((await ask('GET', '/machines?fields[machines]=name')).data[0].attributes), ['name'])
    t.match(await ask('GET', '/machines?filter[weight]=1'), {
      status: 400, errors: [{ status: '400', code: 'invalid-query', source: { parameter: 'weight' } }]
    })
    t.match(await ask('GET', '/machines?color=1'), { status: 400, errors: [{ source: { parameter: 'color' } }] })

    const relationships = { machine: { data: { type: 'machines', id: made.data.id } } }
    const attributes = { customer: 'Ann', startsOn: '2026-03-05', endsOn: '2026-03-06' }
    const booked = await ask('POST', '/bookings', { data: { type: 'bookings', attributes, relationships } })
    t.match(booked, { status: 201, data: { attributes: { amount: '20.00' }, relationships } })
    const booking: string = booked.data.links.self.replace('/api', '')
    const clash = await ask('POST', '/bookings', { data: { type: 'bookings', attributes, relationships } })
    t.match(clash, { status: 400, errors: [{ code: 'invalid-body', source: { pointer: '/startsOn' } }] })
    t.match(await ask('GET', '/bookings?include=machine'), {
      data: [{ relationships }], included: [{ type: 'machines', id: made.data.id, attributes: { name: 'Digger' } }]
    })
    t.match((await ask('GET', `${booking}?include=machine`)).included, [{ attributes: { name: 'Digger' } }])
    t.match(await ask('GET', `${booking}/machine`), { data: { type: 'machines', attributes: { name: 'Digger' } } })
    t.strictSame((await ask('GET', `${booking}/relationships/machine`)).data, relationships.machine.data)
    t.strictSame((await ask('GET', `${booking}/relationships/invoice`)).status, 200)
    t.match(await ask('GET', `${booking}/owner`), { status: 404 })

    const operations = async () => (await ask('GET', self)).data.meta.operations as { name: string, allowed: boolean }[]
    const isAllowed = async (name: string) => (await operations()).find(each => each.name === name)?.allowed
    t.strictSame([await isAllowed('repair'), await isAllowed('restore')], [true, false])
    t.match(await ask('POST', `${booking}/actions/bill`, {}), { status: 409, errors: [{ code: 'wrong-state' }] })
    t.match(await ask('POST', `${self}/actions/repair`, { meta: { revision: 7 } }), { status: 412 })
    const repaired = await ask('POST', `${self}/actions/repair`, { meta: {} }, { 'idempotency-key': 'r-1' })
    t.match(repaired, { status: 200, data: { attributes: { status: 'repair' }, meta: { revision: 2 } } })
    t.match(await ask('POST', `${self}/actions/repair`, { meta: {} }, { 'idempotency-key': 'r-1' }), { status: 200 })
    t.match(await ask('POST', `${self}/actions/explode`, {}), { status: 404 })
    const cheaper = (revision: number) => ({ data: { attributes: { rate: '9.00' }, meta: { revision } } })
    t.match(await ask('PATCH', self, cheaper(1)), { status: 412, errors: [{ meta: { revision: 2 } }] })
    t.match(await ask('PATCH', self, cheaper(2)), { status: 200, data: { attributes: { rate: '9.00' } } })
    t.match(await ask('PATCH', self, { data: { attributes: { rate: 'much' } } }), {
      status: 400, errors: [{ source: { pointer: '/rate' } }]
    })

    const bob = { authorization: 'Bearer bob-secret' }
    t.match(await ask('GET', '/machines', undefined, bob), { status: 200, data: [] })
    t.match(await ask('GET', self, undefined, bob), { status: 404 })
    t.match(await ask('DELETE', self, undefined, bob), { status: 404 })
    t.match(await ask('GET', '/machines', undefined, { authorization: '' }), {
      status: 401, errors: [{ code: 'unauthorized' }]
    })
    t.match(await ask('DELETE', self), { status: 409, errors: [{ code: 'in-use' }] })
    t.match(await ask('GET', '/ships'), { status: 404 })
    t.match(await ask('GET', '/machines/x'), { status: 404 })
  })
}
