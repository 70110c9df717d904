import Fastify from 'fastify'
import t from 'tap'
import type { Field } from '../../lib/index.js'
import { customers, deals, memoryStorage } from '../../lib/index.js'
import { compileGrammar } from '../../lib/query/grammar.js'

const fields: Field[] = [
  { name: 'id', kind: 'integer', optional: false },
  { name: 'age', kind: 'integer', optional: false },
  { name: 'note', kind: 'string', optional: true }
]
const limits = {
  pageSize: 50, maxPageSize: 1000, maxSkipped: 50_000, maxValues: 10, maxPatterns: 4, maxPatternLength: 20,
  maxPatternSize: 100
}
const grammar = compileGrammar(fields, limits)

function detailOf (search: string): string {
  const parsed = grammar.parse(search)
  return 'flaws' in parsed ? parsed.flaws.map(({ detail }) => detail).join('\n') : 'nothing is wrong'
}

const size = 'The size of a page is maxpagesize, as in maxpagesize=20.'
const number = 'Pages are numbered from 1, as in page=2&maxpagesize=20; links.next leads from one to the next.'
const cursor = 'Follow links.next; in the order of ids it goes on by gt=, the last id.'
const order = 'The order is sort=age, and sort=-age is descending.'
const search = 'To search there is age.regex, as in age.regex=abc.'
const condition = 'Each condition is a parameter of its own, as age=1, age.ne=1 or age.regex=abc.'
const members = 'The members to show are fields=id,age.'
const count = 'The number of all items comes with count=exact.'

/** What other systems have, and what is said to it. */
const table: Record<string, string> = {
  // PostgREST
  limit: size, offset: number, order, select: members,
  // Feathers
  $limit: size, $skip: number, '$sort[age]': order, '$select[]': '', 'age[$gt]': 'Say age.gt=.',
  'age[$in][]': 'Say age=, once for each value.', 'age[$nin][]': 'Say age.ne=.',
  // JSON:API
  'page[size]': size, 'page[limit]': size, 'page[number]': number, 'page[offset]': number, 'page[after]': cursor,
  'filter[age]': 'Say age=, once for each value.', 'filter[age][gte]': 'Say age.gte=.',
  'fields[customers]': 'The members to show are one list, as in fields=id.', 'filter[nothing]': '',
  // OData
  $top: size, $filter: condition, $orderby: order, $count: count, $search: search,
  $format: 'The representation is format=json.',
  // Spring, Laravel, Rails, Django, json-server, Stripe, Google
  size, per_page: size, perPage: size, 'page-size': size, page_size: size, pageNumber: number, ordering: order,
  sortBy: order, order_by: order, direction: order, _limit: size, _sort: '', _order: order,
  starting_after: cursor, pageToken: cursor,
  // search
  q: search, search, query: search, filter: condition, where: condition,
  // brackets, as qs reads them
  'age[gte]': 'Say age.gte=.', 'age[ge]': 'Say age.gte=.', 'note[like]': 'Say note.regex=.', 'sort[age]': order,
  'note[isnull]': 'Say note.null=.', 'age[isnull]': '', 'age[]': 'Say age=, once for each value.',
  'where[age][$lte]': 'Say age.lte=.',
  'age[unheard]': '', 'age[gte': '', [`age${'[a]'.repeat(100)}`]: '', 'age[__proto__]': '',
  '__proto__[age]': 'Say age=, once for each value.', 'age[constructor]': ''
}

t.test('a parameter of another system is told what it is called here', async t => {
  for (const [name, hint] of Object.entries(table)) {
    const detail = detailOf(`${encodeURIComponent(name)}=1`)
    t.match(detail, `Unknown parameter "${name.slice(0, 50)}`)
    if (hint === '') t.notMatch(detail, /\. (The|Say|Each|To|Pages|Follow) /, name)
    else t.match(detail, `". ${hint} Fields that can be filtered: id, age, note;`, name)
  }
})

t.test('what is said is right', async t => {
  const hints = [...new Set(Object.values(table))].join(' ')
  const examples = [...hints.matchAll(/[\w.]+=[-\w,]+(&[\w.]+=\w+)*/g)].map(([example]) => example)
  t.ok(examples.length > 10, examples.join(' '))
  for (const example of examples) t.equal(detailOf(example), 'nothing is wrong', example)
  const names = [...hints.matchAll(/ ([\w.]+)=(?=[., ])/g)].map(([, name]) => name as string)
  t.ok(names.length > 5, names.join(' '))
  for (const name of names) t.ok(grammar.filters.has(name), name)
})

t.test('an order of another system is told how it is said here', async t => {
  const orders: Record<string, string> = {
    'age:desc': 'sort=-age', 'age:asc': 'sort=age', 'age.desc': 'sort=-age', 'age+desc': 'sort=-age',
    'age,desc': 'sort=-age', 'age,asc': 'sort=age', 'age:desc,id:asc': 'sort=-age,id', 'age,desc,id': 'sort=-age,id',
    'age:DESC': 'sort=-age', 'age descending': 'sort=-age', '+age': 'sort=age', '-age:desc': 'sort=-age'
  }
  for (const [text, said] of Object.entries(orders)) {
    t.match(detailOf(`sort=${text}`), `which is no field. Say ${said}. Allowed`, text)
    t.equal(detailOf(said), 'nothing is wrong', said)
  }
  for (const text of ['desc', 'agee:desc', 'age:down', ':', '']) t.notMatch(detailOf(`sort=${text}`), 'Say', text)
  t.match(detailOf('sort=agee'), 'Did you mean "age"?')
})

t.test('in every list and log', async t => {
  const app = Fastify()
  const storage = memoryStorage()
  t.teardown(() => app.close())
  app.register(customers, { storage })
  app.register(deals, { storage, version: 'v1' })
  const made = await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: { name: 'a', price: 1 } })
  for (const path of ['/customers', '/rest/v1/deals', '/query/deals-by-name/a', `${made.headers.location}/commands`]) {
    const answer = await app.inject(`${path}?limit=5`)
    t.equal(answer.statusCode, 400, path)
    t.match(answer.json(), { errors: [{ parameter: 'limit', detail: /maxpagesize=20/ }] }, path)
  }
})
