import t from 'tap'
import { quoteName, shortenName, toSnakeCase } from '../../lib/storage/sql/dialect.js'

t.test('names', async t => {
  const table: [string, string][] = [
    ['id', 'id'], ['holdReason', 'hold_reason'], ['createdAt', 'created_at'], ['line-items', 'line_items'],
    ['HTMLPage', 'html_page'], ['customerID', 'customer_id'], ['size2', 'size2'], ['snake_case', 'snake_case'],
    ['größe', 'größe'], ['a b"c', 'a_b_c']
  ]
  for (const [name, expected] of table) t.equal(toSnakeCase(name), expected)
  t.equal(quoteName('a"b'), '"a""b"')
})

t.test('a name that a database would cut ends with a hash of the whole', async t => {
  const [one, two] = [shortenName('a'.repeat(70)), shortenName('a'.repeat(71))]
  t.equal(one.length, 63)
  t.not(one, two)
  t.ok(Buffer.byteLength(shortenName('ä'.repeat(40))) <= 63)
  t.notMatch(shortenName('ä'.repeat(40)), /\ufffd/)
})
