import t from 'tap'
import { Bounded } from '../../lib/storage/sql/bounded.js'
import { quote, shorten, snakeCase } from '../../lib/storage/sql/names.js'

t.test('names', async t => {
  const table: [string, string][] = [
    ['id', 'id'], ['holdReason', 'hold_reason'], ['createdAt', 'created_at'], ['line-items', 'line_items'], ['HTMLPage', 'html_page'],
    ['customerID', 'customer_id'], ['size2', 'size2'], ['snake_case', 'snake_case'], ['größe', 'größe'], ['a b"c', 'a_b_c']
  ]
  for (const [name, expected] of table) t.equal(snakeCase(name), expected)
  t.equal(quote('a"b'), '"a""b"')
})

t.test('a name that a database would cut ends with a hash of the whole', async t => {
  const [one, two] = [shorten('a'.repeat(70)), shorten('a'.repeat(71))]
  t.equal(one.length, 63)
  t.not(one, two)
  t.ok(Buffer.byteLength(shorten('ä'.repeat(40))) <= 63)
  t.notMatch(shorten('ä'.repeat(40)), /\ufffd/)
})

t.test('what is kept is bounded, and what was kept last stays', async t => {
  const kept = new Bounded<number>(10)
  let made = 0
  for (let key = 0; key < 100; key++) kept.get(String(key), () => ++made)
  t.ok(kept.size <= 10)
  t.equal(kept.get('99', () => ++made), 100)
  t.equal(made, 100)
  t.equal(kept.get('0', () => ++made), 101)
})
