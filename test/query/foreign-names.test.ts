import Fastify from 'fastify'
import t from 'tap'
import { compileGrammar } from '../../lib/core/query/grammar.js'
import type { Field } from '../../lib/index.js'
import { customers, deals, memoryStorage } from '../../lib/index.js'

const fields: Field[] = [
  { name: 'id', kind: 'integer', optional: false },
  { name: 'age', kind: 'integer', optional: false },
  { name: 'note', kind: 'string', optional: true }
]
const limits = {
  pageSize: 50,
  maxPageSize: 1000,
  maxSkipped: 50_000,
  maxValues: 10,
  maxPatterns: 4,
  maxPatternLength: 20,
  maxPatternSize: 100
}
const grammar = compileGrammar({ name: 'people', fields }, limits)

function detailOf (search: string): string {
  const parsed = grammar.parse(search)
  return 'flaws' in parsed ? parsed.flaws.map(({ detail }) => detail).join('\n') : 'nothing is wrong'
}

const size = 'To set the size of a page, use maxpagesize, such as maxpagesize=20.'
const number = 'Pages are numbered from 1, such as page=2&maxpagesize=20; links.next leads to the next page.'
const cursor = 'Follow links.next and links.prev.'
const order = 'To sort, use sort=age, or sort=-age for descending order.'
const search = 'To search, use age.has, such as age.has=abc.'
const condition = 'Each condition is a separate parameter, such as age=1, age.ne=1 or age.has=abc.'
const members = 'To choose members, use fields=id,age.'
const count = 'To count all items, use count=exact.'

const each = 'Use age=, once for each value.'

/** What is said to which names of other systems; to some of them, nothing. */
const table: [hint: string, names: string][] = [
  [size, 'limit $limit $top size per_page perPage page-size page_size _limit page[size] page[limit]'],
  [number, 'offset $skip pageNumber page[number] page[offset]'],
  [cursor, 'page[after] starting_after pageToken'],
  [order, 'order $orderby ordering sortBy order_by direction _order $sort[age] sort[age]'],
  [search, 'q search query $search'],
  [condition, 'filter where $filter'],
  [members, 'select $select'],
  ['To choose members, use one list, such as fields=id.', 'fields[customers]'],
  [count, '$count'],
  ['To choose the representation, use format=json.', '$format'],
  [each, 'filter[age] age[] age[$in][] __proto__[age]'],
  ['Use age.gt=.', 'age[$gt] age[gt]'],
  ['Use age.gte=.', 'age[gte] age[ge] filter[age][gte]'],
  ['Use age.lte=.', 'where[age][$lte]'],
  ['Use age.ne=.', 'age[$nin][] age[not]'],
  ['Use note.regex=.', 'note[like] note[startswith]'],
  ['Use note.has=.', 'note[contains] note[icontains]'],
  ['Use note.null=.', 'note[isnull]'],
  ['', '_sort $select[] filter[nothing] age[isnull] age[unheard] age[gte age[__proto__] age[constructor] colour'],
  ['', `age${'[a]'.repeat(100)}`]
]

t.test('a parameter of another system is refused with its name here', async t => {
  for (const [name, hint] of table.flatMap(([hint, names]) => names.split(' ').map(name => [name, hint] as const))) {
    const detail = detailOf(`${encodeURIComponent(name)}=1`)
    t.match(detail, `Unknown parameter "${name.slice(0, 50)}`)
    if (hint === '') t.notMatch(detail, /\. (The|Say|Each|To|Pages|Follow) /, name)
    else t.match(detail, `". ${hint} Fields that can be filtered: id, age, note;`, name)
  }
})

t.test('what is said is right', async t => {
  const hints = table.map(([hint]) => hint).join(' ')
  const examples = [...hints.matchAll(/[\w.]+=-?\w+(,\w+)*(&[\w.]+=\w+)*/g)].map(([example]) => example)
  t.ok(examples.length > 10, examples.join(' '))
  for (const example of examples) t.equal(detailOf(example), 'nothing is wrong', example)
  const names = [...hints.matchAll(/ ([\w.]+)=(?=[., ])/g)].map(([, name]) => name as string)
  t.ok(names.length > 5, names.join(' '))
  for (const name of names) t.ok(grammar.filters.has(name), name)
})

t.test('an order of another system is refused with its spelling here', async t => {
  const orders: [said: string, texts: string][] = [
    ['sort=-age', 'age:desc age.desc age+desc age,desc age:DESC age+descending -age:desc'],
    ['sort=age', 'age:asc age,asc +age'],
    ['sort=-age,id', 'age:desc,id:asc age,desc,id']
  ]
  for (const [said, text] of orders.flatMap(([said, texts]) => texts.split(' ').map(text => [said, text] as const))) {
    t.match(detailOf(`sort=${text}`), `which is not a field. Use ${said}. Allowed`, text)
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
