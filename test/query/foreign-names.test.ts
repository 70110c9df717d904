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

/** Names of other systems, by ours; to some of them, nothing is said. */
const table: [ours: string, names: string][] = [
  ['maxpagesize', 'limit $limit $top size per_page perPage page-size page_size _limit page[size]'],
  ['page', 'offset $skip pageNumber page[number]'],
  ['after', 'starting_after pageToken'],
  ['sort', 'order $orderby ordering sortBy order_by'],
  ['fields', 'select $select'],
  ['count', '$count'],
  ['', 'colour __proto__ constructor q']
]

t.test('a parameter of another system is refused with its name here', async t => {
  for (const [name, ours] of table.flatMap(([ours, names]) => names.split(' ').map(name => [name, ours] as const))) {
    const detail = detailOf(`${encodeURIComponent(name)}=1`)
    const hint = ours === '' ? '' : ` Did you mean "${ours}"?`
    t.match(detail, `Unknown parameter "${name}".${hint} Fields that can be filtered: id, age, note;`, name)
  }
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
    t.match(answer.json(), { errors: [{ parameter: 'limit', detail: /Did you mean "maxpagesize"/ }] }, path)
  }
})
