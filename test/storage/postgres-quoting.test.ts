import fc from 'fast-check'
import t from 'tap'
import { insert, note, notes, query, thing, things, where } from '../../lib/conformance/fixture.js'
import type { Change, Stored } from '../../lib/index.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { dropSchema, newSchema } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'

// Values are in the texts of statements, so nothing in a value may end it, or be read as an escape or a parameter.
const pieces = [
  "'", "''", '\\', "\\'", "'\\", '"', '$1', '$2::', '$$', '$q$', ':a', ';', '--', '/*', '*/', 'E', "E'", "U&'",
  '\\x27', '\\u0027', '\n', '\r', '\t', ',', ')', '(', '{', '}', 'NULL', '%', '_', '?',
  '\u00a0', 'ä', '\u02bc', '\uff07', '😀', '1', ' '
]
const texts = fc.string({ unit: fc.constantFrom(...pieces), maxLength: 12 })
const ids = texts.map(text => `id ${text}`)

const settings = {
  'prepared statements': {},
  'statements as one text': { preparedStatements: false },
  'sessions that read backslashes in all quotes': { options: '-c standard_conforming_strings=off' },
  'such sessions, and statements as one text': {
    options: '-c standard_conforming_strings=off', preparedStatements: false
  }
}

for (const [name, { options, ...own }] of Object.entries(settings as Record<string, { readonly options?: string }>)) {
  t.test(`texts come back as they were written: ${name}`, async t => {
    const schema = newSchema()
    const url = new URL(await postgresUrl())
    if (options !== undefined) url.searchParams.set('options', options)
    const storage = postgresStorage({ connectionString: url.href, schema, ...own })
    t.teardown(async () => {
      await storage.close?.()
      await dropSchema(schema)
    })
    for (const shape of [notes, things]) await storage.prepare(shape)
    let next = 1
    let compared = 0

    await fc.assert(fc.asyncProperty(fc.uniqueArray(ids, { minLength: 1, maxLength: 6 }), texts, texts, texts,
      async (found, text, later, member) => {
        const json = { [member]: text, list: [later, { [later]: member }] }
        const number = next++
        const first = found.map((id, index) => note(`${number} ${id}`, `${text}${index}`))
        const changed = first.map(({ id }, index) => ({ ...thing(id, {}, 2), text: `${later}${index}` }))
        const odd = thing(number, { string: text, json })
        // Side by side, so that they become one statement.
        await Promise.all([...first.map(item => storage.commit(insert('notes', item))),
          storage.commit(insert('things', odd))])
        await storage.commit(changed.map((item): Change => ({ type: 'replace', family: 'notes', item, expected: 1 })))
        for (const item of changed) {
          t.strictSame(await storage.get('notes', item.id), item)
          const equal = query({ where: [where('id', 'eq', item.id), where('text', 'eq', item.text)] })
          t.strictSame((await storage.find('notes', equal)).items, [item])
        }
        t.strictSame(await storage.get('things', number), odd)
        const other = query({ where: [where('string', 'eq', text), where('id', 'eq', number)] })
        t.strictSame((await storage.find('things', other)).items, [odd] as Stored[])
        compared += 2 * changed.length + 2
      }), { numRuns: 40 })
    t.ok(compared >= 160, `${compared} compared`)
  })
}
