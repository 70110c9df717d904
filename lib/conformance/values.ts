import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Storage } from '../core/storage/storage.js'
import { assertComesBack, assertIds, type Case, ids, insert, note, query, shape, thing, where } from './fixture.js'

// Each comes back exactly as it went in.
const table: Record<string, Record<string, unknown>> = {
  'an item without optional members': {},
  'one member of every kind': {
    integer: 1,
    number: 1.5,
    string: 's',
    boolean: true,
    date: '2026-01-31',
    dateTime: '2026-01-31T23:59:59.999Z',
    mood: 'glad',
    json: { a: 1 }
  },
  'zero, false and the empty string': { integer: 0, number: 0, string: '', boolean: false },
  'the largest integer': { integer: Number.MAX_SAFE_INTEGER, number: Number.MAX_SAFE_INTEGER },
  'the smallest integer': { integer: Number.MIN_SAFE_INTEGER, number: Number.MIN_SAFE_INTEGER },
  'a fraction that is not quite decimal': { number: 0.1 },
  'a sum of fractions': { number: 0.1 + 0.2 },
  'a small number': { number: 1e-7 },
  'a number of seventeen digits near zero': { number: 1.2345678901234567e-20 },
  'the smallest number there is': { number: 5e-324 },
  'seventeen digits': { number: 123456.78901234567 },
  'a negative fraction': { number: -2.5 },
  'quotes of every kind': { string: "'single' \"double\" `back` '' $1 $$ ? :a @b" },
  backslashes: { string: '\\ \\n \\\\ \\u0041' },
  'newlines, tabs and controls': { string: 'a\nb\r\nc\td\u0001\u001f\u007f\u2028' },
  'emoji and other astral text': { string: '😀👩‍👩‍👧\u{10ffff}' },
  'combining marks, not normalised': { string: 'e\u0301 \u00e9 \ufeff' },
  'a string of 100 kB': { string: 'ä"\\\n'.repeat(25_000) },
  'percent and underscore': { string: '100% _of_ %s %d' },
  'a string that looks like SQL': { string: "'); DROP TABLE things; --" },
  'a string that looks like a number': { string: '007', mood: 'calm' },
  'a string that looks like null': { string: 'null' },
  'the string __proto__': { string: '__proto__' },
  'the first day there is': { date: '0001-01-01', dateTime: '0001-01-01T00:00:00.000Z' },
  'the last day there is': { date: '9999-12-31', dateTime: '9999-12-31T23:59:59.999Z' },
  'a leap day': { date: '2024-02-29', dateTime: '2024-02-29T00:00:00.000Z' },
  'a moment before 1900': { dateTime: '1883-11-18T12:03:57.120Z' },
  'json: nested': { json: { a: [1, { b: [true, false, null, 'x', 1e-7] }], c: {}, d: [] } },
  'json: a string': { json: 'text "quoted" \n 😀' },
  'json: a number': { json: 1152921504606846976 },
  'json: false': { json: false },
  'json: an array': { json: [] },
  'json: text that looks like json': { json: '{"a":1}' }
}

export const values: readonly Case[] = [
  ...Object.entries(table).map(([name, members]): Case => ({
    name: `value: ${name}`,
    async run ({ storage }) {
      await assertComesBack(storage, members)
    }
  })),
  {
    name: 'value: absent members are missing, never null or undefined',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1, { integer: 1 })))
      const got = await storage.get('things', 1)
      assert.ok(got !== undefined)
      const names = ['createdAt', 'id', 'integer', 'revision', 'updatedAt']
      assert.deepEqual(Object.keys(got).sort(), names)
      const { items: [item] } = await storage.find('things', query())
      assert.ok(item !== undefined)
      assert.deepEqual(Object.keys(item).sort(), names)
    }
  },
  {
    name: 'value: json keeps the order of its members and hostile names',
    async run ({ storage }) {
      const text = '{"zebra":1,"a":2,"__proto__":{"polluted":true},"constructor":3,"10":4}'
      await storage.commit(insert('things', thing(1, { json: JSON.parse(text) as unknown })))
      const stored = await storage.get('things', 1)
      assert.equal(JSON.stringify(stored?.['json']), JSON.stringify(JSON.parse(text)))
      assert.equal(({} as Record<string, unknown>)['polluted'], undefined)
    }
  },
  {
    name: 'value: filters find hostile strings as they are',
    async run ({ storage }) {
      const hostile = [
        "'); DROP TABLE things; --",
        "' OR ''='",
        '__proto__',
        'constructor',
        '%',
        '_',
        '\\',
        '$1',
        '?',
        '100% "sure"',
        '😀\n'
      ]
      await storage.commit(insert('things', ...hostile.map((string, index) => thing(index + 1, { string }))))
      for (const [index, string] of hostile.entries()) {
        await assertIds(storage, { where: [where('string', 'eq', string)] }, [index + 1])
      }
      assert.equal((await ids(storage, query())).length, hostile.length)
    }
  },
  {
    name: 'value: filters at the edges of numbers and time',
    async run ({ storage }) {
      const max = Number.MAX_SAFE_INTEGER
      await storage.commit(
        insert(
          'things',
          thing(1, { integer: max, date: '9999-12-31' }),
          thing(2, { integer: max - 1, date: '9999-12-30' }),
          thing(3, { number: 0.1 }),
          thing(4, { number: 0.1 + Number.EPSILON }),
          thing(5, { number: 1e-20 }),
          thing(-max, { integer: -max, date: '0001-01-01' })
        )
      )
      await assertIds(storage, { where: [where('integer', 'eq', max)] }, [1])
      await assertIds(storage, { where: [where('integer', 'lt', max)] }, [-max, 2])
      await assertIds(storage, { where: [where('number', 'eq', 0.1)] }, [3])
      await assertIds(storage, { where: [where('number', 'gt', 0.1)] }, [4])
      await assertIds(storage, { where: [where('number', 'eq', 1e-20)] }, [5])
      await assertIds(storage, { where: [where('number', 'lt', 1e-19)] }, [5])
      await assertIds(storage, { where: [where('date', 'lte', '0001-01-01')] }, [-max])
      await assertIds(storage, { where: [where('date', 'gt', '9999-12-30')] }, [1])
    }
  },
  {
    name: 'value: string ids with every sort of character',
    async run ({ storage }) {
      const odd = ['a\'b', 'a"b', 'a\\b', 'a/b', 'ä', '😀', '__proto__', 'constructor', '0', '00', ' ', 'a'.repeat(500)]
      await storage.commit(insert('notes', ...odd.map(id => note(id, `text of ${id}`))))
      for (const id of odd) assert.equal((await storage.get('notes', id))?.['text'], `text of ${id}`)
    }
  },
  {
    name: 'value: fields named like words of SQL, in camel case and with long names',
    async run ({ storage }) {
      const long = 'aVeryLongNameThatGoesOnAndOnAndOnUntilItIsLongerThanAnyDatabaseAllowsForAColumn'
      const names = ['order', 'select', 'group', 'holdReason', 'holdReasonID', 'rowid', 'oid', 'name', long, `${long}2`]
      const odd = shape(
        'oddNames',
        'string',
        names.map(name => ({ name, kind: 'string', optional: true })),
        [[long], ['order', 'group']]
      )
      await storage.prepare(odd)
      const item = thing('1', Object.fromEntries(names.map(name => [name, `value of ${name}`])))
      await storage.commit(insert('oddNames', item, thing('2')))
      assert.deepEqual({ ...await storage.get('oddNames', '1') }, item)
      for (const name of names) {
        assert.deepEqual(
          await ids(storage, query({ where: [where(name, 'eq', `value of ${name}`)], sort: [name] }), 'oddNames'),
          ['1']
        )
      }
    }
  }
]

const essays = shape('essays', 'integer', [{ name: 'text', kind: 'string', optional: true }], [['text']])

/** Text that no index can make shorter. */
function makeText (length: number): string {
  return randomBytes(length).toString('base64').slice(0, length)
}

async function store (storage: Storage, texts: readonly string[]): Promise<void> {
  await storage.prepare(essays)
  await storage.commit(insert('essays', ...texts.map((text, index) => thing(index + 1, { text })), thing(0)))
}

export const longTexts: readonly Case[] = [
  {
    name: 'long texts: 4,000 characters of any kind are stored, read, found and ordered',
    async run ({ storage }) {
      const texts = ['a', '漢', '😀', '~'].map(first => first + makeText(4000 - first.length))
      await store(storage, texts)
      for (const [index, text] of texts.entries()) {
        assert.equal((await storage.get('essays', index + 1))?.['text'], text)
        await assertIds(storage, { where: [where('text', 'eq', text)] }, [index + 1], 'essays')
        await assertIds(storage, { where: [where('text', 'eq', text.slice(0, -1))] }, [], 'essays')
      }
      await assertIds(storage, { sort: ['text'] }, [0, 1, 4, 2, 3], 'essays')
      await assertIds(storage, { where: [where('text', 'gt', texts[1])], sort: ['-text'] }, [3], 'essays')
      await assertIds(storage, { where: [where('text', 'lte', texts[3])], sort: ['-text'] }, [4, 1], 'essays')
    }
  },
  {
    name: 'long texts: those that begin alike are told apart, whatever is asked',
    async run ({ storage }) {
      const same = 'x'.repeat(199)
      // In their order.
      const texts = [same, `${same}a`, `${same}aa`, `${same}aa`, `${same}aab`, `${same}b${'y'.repeat(4000)}`]
        .concat(`${same}b${'y'.repeat(4000)}z`, `${same}😀`, `${same}😀a`)
      const ids = texts.map((_, index) => texts.length - index)
      // Those that are equal go by their ids.
      ids.splice(2, 2, 6, 7)
      await storage.prepare(essays)
      await storage.commit(insert('essays', ...texts.map((text, index) => thing(ids[index] as number, { text }))))
      await assertIds(storage, { sort: ['text'] }, ids, 'essays')
      const backwards = [...ids].reverse()
      await assertIds(storage, { sort: ['-text', '-id'], limit: 4, offset: 2 }, backwards.slice(2, 6), 'essays')
      for (const [at, text] of texts.entries()) {
        const from = texts.indexOf(text)
        const to = texts.lastIndexOf(text) + 1
        const sort = ['text']
        await assertIds(storage, { where: [where('text', 'eq', text)], sort }, ids.slice(from, to), 'essays')
        await assertIds(storage, { where: [where('text', 'lt', text)], sort }, ids.slice(0, from), 'essays')
        await assertIds(storage, { where: [where('text', 'lte', text)], sort }, ids.slice(0, to), 'essays')
        await assertIds(storage, { where: [where('text', 'gt', text)], sort }, ids.slice(to), 'essays')
        await assertIds(storage, { where: [where('text', 'gte', text)], sort }, ids.slice(from), 'essays')
        const others = [...ids.slice(0, from), ...ids.slice(to)]
        await assertIds(storage, { where: [where('text', 'ne', text)], sort }, others, 'essays')
        const both = [...new Set([...ids.slice(0, 1), ...ids.slice(from, to)])]
        await assertIds(storage, { where: [where('text', 'eq', same, text)], sort, limit: at + 9 }, both, 'essays')
      }
    }
  }
]
