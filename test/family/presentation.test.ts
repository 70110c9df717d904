import { Type } from '@sinclair/typebox'
import t from 'tap'
import { type Family, getFamily } from '../../lib/core/family/family.js'
import { type AnyFamily, customers, deals, defineFamily } from '../../lib/index.js'

const choice = (...values: string[]) => Type.Union(values.map(value => Type.Literal(value)))
const statesOf = (family: AnyFamily) => Object.fromEntries(getFamily(family).presentation.states)
const eq = (field: string, value: string | boolean) => ({ field, op: 'eq', values: [value] })

const fields = {
  id: Type.Integer(),
  kind: choice('new', 'used'),
  status: Type.Unsafe<string>({ ...choice('new', 'sold'), default: 'new' }),
  note: Type.Optional(choice('sold', 'odd'))
}
const cars = { name: 'cars', singular: 'car', fields: Type.Object(fields), create: ['kind'] } as const

t.test('states have a tone and conditions, in the order of the definition', async t => {
  t.strictSame(Object.keys(statesOf(deals)), ['open', 'held', 'completed', 'cancelled'])
  t.strictSame(statesOf(deals), {
    open: {
      tone: 'neutral', filter: 'status=open&held=false', where: [eq('status', 'open'), eq('held', false)]
    },
    held: { tone: 'warning', filter: 'status=open&held=true', where: [eq('status', 'open'), eq('held', true)] },
    completed: { tone: 'done', filter: 'status=completed', where: [eq('status', 'completed')] },
    cancelled: { tone: 'bad', filter: 'status=cancelled', where: [eq('status', 'cancelled')] }
  })
  t.strictSame(statesOf(customers), {}, 'a family without them')
})

t.test('without a filter, the one required field that has the value decides', async t => {
  const state = () => 'sold'
  const states = { used: 'bad', sold: 'done', new: 'good', odd: 'warning', gone: 'neutral' } as const
  const own = statesOf(defineFamily({ ...cars, state, states }))
  t.strictSame(own.used?.where, [eq('kind', 'used')])
  t.strictSame(own.sold?.where, [eq('status', 'sold')])
  t.strictSame(own.new?.where, [eq('status', 'new')], 'of several, the one that clients do not send')
  t.equal(own.odd?.where, undefined, 'an optional one has none')
  t.equal(own.gone?.where, undefined)
  t.strictSame(own.gone, { tone: 'neutral', filter: undefined, where: undefined })
  const both = statesOf(defineFamily({ ...cars, create: ['kind', 'status'], state, states }))
  t.equal(both.new?.where, undefined, 'where two of them have it')
})

t.test('without states, the values of a required field are the states', async t => {
  const own = statesOf(defineFamily(cars))
  t.strictSame(own, {
    new: { tone: 'neutral', filter: 'status=new', where: [eq('status', 'new')] },
    sold: { tone: 'neutral', filter: 'status=sold', where: [eq('status', 'sold')] }
  })
  t.equal(getFamily(defineFamily(cars)).state, undefined, 'problems say nothing of them')
  t.strictSame(Object.keys(statesOf(defineFamily({ ...cars, create: ['kind', 'status'] }))), ['new', 'used'],
    'the first, if clients send all')
})

t.test('the state of an item is the first whose conditions hold, unless state says it', async t => {
  const stateOf = (family: Family, item: object) => family.state?.(item as never)
  const deal = getFamily(deals)
  for (const [item, expected] of [
    [{ status: 'open', held: false }, 'open'], [{ status: 'open', held: true }, 'held'],
    [{ status: 'completed', held: true }, 'completed'], [{ status: 'cancelled', held: false }, 'cancelled'],
    [{ status: 'lost', held: false }, undefined]
  ] as const) t.equal(stateOf(deal, item), expected)
  const states = { late: { filter: 'id>=5&status=new' }, new: 'good', sold: 'done' } as const
  const family = getFamily(defineFamily({ ...cars, states }))
  t.equal(stateOf(family, { id: 5, status: 'new' }), 'late')
  t.equal(stateOf(family, { id: 4, status: 'new' }), 'new')
  t.equal(stateOf(getFamily(defineFamily({ ...cars, states, state: () => 'mine' })), { id: 5 }), 'mine')
  const repeated = getFamily(defineFamily({ ...cars, states: { late: { filter: 'id>=7&id>=5' } } }))
  t.equal(stateOf(repeated, { id: 5 }), 'late', 'a repeated bound is no alternative')
})

t.test('search is in the title, unless the definition names fields', async t => {
  const searchOf = (family: AnyFamily) => getFamily(family).presentation.search
  t.strictSame(searchOf(deals), ['name'])
  t.strictSame(searchOf(customers), [], 'a title that is a number')
  t.strictSame(searchOf(defineFamily(cars)), [])
  const books = {
    name: 'books', singular: 'book', fields: Type.Object({ id: Type.String(), title: Type.String(), by: Type.String() })
  } as const
  t.strictSame(searchOf(defineFamily(books)), ['title'])
  t.strictSame(searchOf(defineFamily({ ...books, title: 'id' })), [], 'an id')
  t.strictSame(searchOf(defineFamily({ ...books, search: ['by', 'id'] })), ['by', 'id'])
  t.strictSame(searchOf(defineFamily({ ...books, search: [] })), [])
})

t.test('a host adds states, search and labels', async t => {
  const ours = deals.extend({
    fields: Type.Object({ region: Type.Optional(Type.String()) }),
    states: { far: { tone: 'good', filter: 'region=far' }, cancelled: 'neutral' },
    search: ['name', 'region'],
    labels: { de: { singular: 'Auftrag', fields: { region: 'Gebiet' }, operations: { hold: 'Parken' } }, fr: {} }
  })
  const { states, search, labels } = getFamily(ours).presentation
  t.strictSame([...states.keys()], ['far', 'cancelled', 'open', 'held', 'completed'], 'its own come first')
  t.equal(states.get('cancelled')?.tone, 'neutral')
  t.equal(getFamily(ours).state?.({ region: 'far', status: 'open', held: true } as never), 'far')
  t.strictSame(search, ['name', 'region'])
  t.match(labels, {
    en: { fields: { amercement: 'Fee' } },
    de: {
      singular: 'Auftrag',
      plural: 'Geschäfte',
      fields: { region: 'Gebiet', price: 'Preis' },
      operations: { hold: 'Parken', unhold: { label: 'Freigeben' } },
      states: { held: 'Angehalten' }
    },
    fr: {}
  })
  const unset = getFamily(deals.extend({ labels: { de: { fields: undefined } } } as never)).presentation.labels
  t.match(unset, { de: { fields: { price: 'Preis' } } }, 'a member that is undefined changes nothing')
  t.throws(() => deals.extend({ labels: { de: { fields: { region: 'Gebiet' } } } }), /fields has "region"/)
  const none = { fields: undefined, operations: undefined, states: undefined } as {}
  const { de } = getFamily(deals.extend({ labels: { de: { singular: 'Auftrag', ...none } } })).presentation.labels
  t.match(de, { singular: 'Auftrag', fields: { price: 'Preis' }, states: { held: 'Angehalten' } }, 'undefined is none')
})

t.test('other names of fields are in states, search and labels too', async t => {
  const family = getFamily(deals.extend({
    states: { dear: { filter: 'min-price=100&price<1000' } }
  }).rename({ name: 'title', price: 'total', held: 'paused', amercement: 'fee' }))
  const { states, search, labels, title } = family.presentation
  t.strictSame(states.get('held')?.where, [eq('status', 'open'), eq('paused', true)])
  t.equal(states.get('dear')?.filter, 'min-total=100&total<1000')
  t.equal(family.state?.({ status: 'open', paused: true, total: 1 } as never), 'held')
  t.equal(title, 'title')
  t.strictSame(search, ['title'])
  t.strictSame(labels.en?.fields, { amercement: 'Fee', fee: 'Fee' }, 'a parameter keeps its name')
  t.match(labels.de?.fields, { title: 'Name', total: 'Preis', paused: 'Angehalten' })
  t.notOk('price' in (labels.de?.fields ?? {}))
  const search2 = getFamily(deals.extend({ search: ['holdReason'] }).rename({ holdReason: 'why' })).presentation.search
  t.strictSame(search2, ['why'])
})
