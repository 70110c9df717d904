import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import t from 'tap'
import { defineFamily, memoryStorage } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { parseCsv } from '../csv.js'
import { escapeForName } from '../odd-strings.js'

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.Integer(), text: Type.String(), more: Type.Optional(Type.Any()) })
})

const signs = ['=', '+', '-', '@', '＝', '＋', '－', '＠']
const blanks = [
  '', ' ', '   ', '\u00a0', '\u00ad', '\u200b', '\u200b\u200b ', '\u2028', '\u202e', '\u2060', '\u3000', '\ufeff',
  '\u180e', '\u3164', '\u115f', '\u{e0001}', '\u2800', '\ufe0f', '\u034f', '\u0085'
]
const separators = [';', '\t', '\n', '\r', '\r\n', '; ;', 'a;', 'a\t', 'a\n', 'a;\u200b']

/** The cells that a program finds which parts them by one character, and knows no quotes inside of a cell. */
const cellsOf = (csv: string, separator: string) => csv.split(/\r\n|\r|\n/).flatMap(line => line.split(separator))

t.test('no text becomes a formula in a spreadsheet, whatever parts its cells', async t => {
  const texts = signs.flatMap(sign => [
    ...blanks.map(blank => `${blank}${sign}1+1`),
    ...separators.flatMap(separator => ['', ' ', '\u200b'].map(blank => `${separator}${blank}${sign}1+1`))
  ])
  const storage = memoryStorage()
  await loadItems(storage, notes, texts.map((text, id) => ({ id, text, more: { [text]: [text] } })))
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(notes, { storage })
  for (const url of ['/notes.csv', '/notes?format=csv&maxpagesize=1000']) {
    const { body } = await app.inject(url)
    const [, ...rows] = parseCsv(body)
    t.equal(rows.length, texts.length)
    const written = rows.map(row => row[1] as string)
    const isFormula = (text: string): boolean => /^[\s\u00ad\u200b\u2060\u202e;]*[=+\-@＝＋－＠]/.test(text)
    t.strictSame(written.filter(isFormula).map(escapeForName), [])
    t.strictSame(written.map(text => text.replaceAll("'", '')), texts, 'nothing but apostrophes is added')
    for (const separator of [';', '\t']) {
      const formulas = cellsOf(body, separator).filter(cell => /^[\s\u00ad\u200b\u2060\u202e]*[=+\-@＝＋－＠]/.test(cell))
      t.strictSame(formulas, [], `cells parted by ${JSON.stringify(separator)}`)
    }
  }
})

t.test('what is no formula is as it was', async t => {
  const texts = ['a=b', 'a - b', '1;2;3', 'a; b', ' a', '\u200ba', 'x@example.org', 'a\nb', '', "'", 'a,"b"', '5 + 5']
  const storage = memoryStorage()
  await loadItems(storage, notes, texts.map((text, id) => ({ id, text, more: [-1, { a: '=1' }] })))
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(notes, { storage })
  const [, ...rows] = parseCsv((await app.inject('/notes.csv')).body)
  t.strictSame(rows.map(row => row[1]), texts)
  t.ok(rows.every(row => row[2] === '[-1,{"a":"=1"}]'))
})

t.test('to look for formulas takes linear time', async t => {
  const storage = memoryStorage()
  const texts = [' ', ';', '\t', '; ', ' ;', '\u200b'].map(text => text.repeat(500_000))
  await loadItems(storage, notes, texts.map((text, id) => ({ id, text })))
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(notes, { storage })
  // In quadratic time this would not end.
  t.equal((await app.inject('/notes.csv')).statusCode, 200)
})
