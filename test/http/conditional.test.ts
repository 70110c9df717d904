import t from 'tap'
import {
  checkReadConditions, isLater, listMatches, makeEtag, readHttpDate, readTags, writeHttpDate
} from '../../lib/http/conditional.js'
import { makeChooser } from '../../lib/http/negotiate.js'
import type { Representation } from '../../lib/index.js'
import { json } from '../../lib/index.js'

const noon = Date.UTC(2026, 2, 31, 12, 0, 0) / 1000
const year2026 = Date.UTC(2026, 0, 1)

t.test('HTTP dates in their three forms', async t => {
  const table: [string, number | undefined][] = [
    ['Tue, 31 Mar 2026 12:00:00 GMT', noon],
    ['Tuesday, 31-Mar-26 12:00:00 GMT', noon],
    ['Tue Mar 31 12:00:00 2026', noon],
    ['Sun Mar  1 00:00:00 2026', Date.UTC(2026, 2, 1) / 1000],
    ['Thu, 29 Feb 2024 23:59:59 GMT', Date.UTC(2024, 1, 29, 23, 59, 59) / 1000],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    // a leap second is the next one
    ['Sat, 31 Dec 2016 23:59:60 GMT', Date.UTC(2017, 0, 1) / 1000],
    // two digits of a year: at most 50 years ahead
    ['Wednesday, 01-Jan-76 00:00:00 GMT', Date.UTC(2076, 0, 1) / 1000],
    ['Friday, 01-Jan-77 00:00:00 GMT', Date.UTC(1977, 0, 1) / 1000],
    // not dates that exist, or not HTTP dates
    ['Thu, 29 Feb 2026 00:00:00 GMT', undefined],
    ['Tue, 31 Apr 2026 00:00:00 GMT', undefined],
    ['Tue, 00 Mar 2026 00:00:00 GMT', undefined],
    ['Tue, 31 Mar 2026 24:00:00 GMT', undefined],
    ['Tue, 31 Mar 2026 12:60:00 GMT', undefined],
    ['Tue, 31 Mar 2026 12:00:61 GMT', undefined],
    ['Tue, 31 Mar 2026 12:00:00 UTC', undefined],
    ['Tue, 31 Mar 2026 12:00:00 +0000', undefined],
    ['Tue, 31 Mar 2026 12:00:00', undefined],
    ['Tue, 1 Mar 2026 12:00:00 GMT', undefined],
    ['tue, 31 mar 2026 12:00:00 gmt', undefined],
    ['Die, 31 Mär 2026 12:00:00 GMT', undefined],
    ['Die, 31 Mar 2026 12:00:00 GMT', undefined],
    ['Dienstag, 31-Mar-26 12:00:00 GMT', undefined],
    ['Die Mar 31 12:00:00 2026', undefined],
    [' Tue, 31 Mar 2026 12:00:00 GMT', undefined],
    ['Tue, 31 Mar 2026 12:00:00 GMT\n', undefined],
    ['Thu, 01 Jan 0050 00:00:00 GMT', undefined],
    ['2026-03-31T12:00:00Z', undefined],
    ['1774958400', undefined],
    ['', undefined]
  ]
  for (const [date, seconds] of table) t.equal(readHttpDate(date, year2026), seconds, JSON.stringify(date))
  t.equal(writeHttpDate('2026-03-31T12:00:00.999Z'), 'Tue, 31 Mar 2026 12:00:00 GMT')
})

t.test('later, in whole seconds', async t => {
  const date = 'Tue, 31 Mar 2026 12:00:00 GMT'
  t.notOk(isLater('2026-03-31T11:59:59.999Z', date))
  t.notOk(isLater('2026-03-31T12:00:00.999Z', date))
  t.ok(isLater('2026-03-31T12:00:01.000Z', date))
  t.notOk(isLater('2026-03-31T12:00:01.000Z', 'soon'), 'what is no date is no condition')
})

t.test('lists of entity tags', async t => {
  const table: [string, string[] | undefined][] = [
    ['"a"', ['"a"']],
    ['W/"a"', ['W/"a"']],
    ['"a", "b"', ['"a"', '"b"']],
    ['"a","b"', ['"a"', '"b"']],
    ['"a"\t,\t"b"', ['"a"', '"b"']],
    [' "a" ', ['"a"']],
    [',, "a" ,,"b",', ['"a"', '"b"']],
    ['"a,b"', ['"a,b"']],
    ['""', ['""']],
    ['"\u00fc"', ['"\u00fc"']],
    ['', []],
    [',', []],
    ['a', undefined],
    ['"a', undefined],
    ['"a" "b"', undefined],
    ['w/"a"', undefined],
    ['W/ "a"', undefined],
    ['"a\u0000"', undefined],
    ['"a b"', undefined],
    ['*, "a"', undefined]
  ]
  for (const [header, tags] of table) t.strictSame(readTags(header), tags, JSON.stringify(header))
  t.ok(listMatches(' * ', () => false))
  t.ok(listMatches('"a", "b"', tag => tag === '"b"'))
  t.notOk(listMatches('"b", oops', () => true), 'what is malformed matches nothing')
  t.equal(readTags(`${' '.repeat(100_000)}x`), undefined, 'a long header takes no long time')
})

t.test('the order of conditions', async t => {
  const current = { etag: '"7-json"', updatedAt: '2026-03-31T12:00:00.500Z' }
  const same = 'Tue, 31 Mar 2026 12:00:00 GMT'
  const before = 'Tue, 31 Mar 2026 11:59:59 GMT'
  const table: [Record<string, string>, ReturnType<typeof checkReadConditions>][] = [
    [{}, 'go'],
    [{ 'if-match': '"7-json"' }, 'go'],
    [{ 'if-match': '"6-json"' }, 'failed'],
    [{ 'if-match': 'W/"7-json"' }, 'failed'],
    [{ 'if-match': 'oops' }, 'failed'],
    [{ 'if-match': '"7-json"', 'if-unmodified-since': before }, 'go'],
    [{ 'if-unmodified-since': before }, 'failed'],
    [{ 'if-unmodified-since': same }, 'go'],
    [{ 'if-unmodified-since': 'oops' }, 'go'],
    [{ 'if-none-match': 'W/"7-json"' }, 'not-modified'],
    [{ 'if-none-match': '"6-json"' }, 'go'],
    [{ 'if-none-match': 'oops' }, 'go'],
    [{ 'if-none-match': '"6-json"', 'if-modified-since': same }, 'go'],
    [{ 'if-none-match': '"7-json"', 'if-modified-since': before }, 'not-modified'],
    [{ 'if-modified-since': same }, 'not-modified'],
    [{ 'if-modified-since': before }, 'go'],
    [{ 'if-modified-since': 'oops' }, 'go'],
    [{ 'if-match': '"6-json"', 'if-none-match': '"7-json"' }, 'failed'],
    [{ 'if-match': '*', 'if-none-match': '*' }, 'not-modified']
  ]
  for (const [headers, verdict] of table) {
    t.equal(checkReadConditions(headers, current), verdict, JSON.stringify(headers))
  }
})

t.test('tags', async t => {
  t.equal(makeEtag(7, json), '"7-json"')
  t.equal(makeEtag(7, json, '-abcdef'), '"7-json-abcdef"')
  t.match(makeEtag(7, json, '', { a: 1 }), /^"7-json-[\w-]{22}"$/)
  t.not(makeEtag(7, json, '', { a: 1 }), makeEtag(7, json, '', { a: 2 }))
  const [one, other] = [makeEtag(0, json, '', { a: 1 }), makeEtag(0, json, '', { a: 2 })]
  t.match(one, /^"[\w-]{22}-json"$/)
  t.not(one, other, 'without a revision the content decides')
})

t.test('negotiation', async t => {
  const make = (name: string, mediaType: string): Representation => ({
    name,
    extension: name,
    mediaTypes: [mediaType],
    one: () => name,
    problem: () => name,
    problemType: `application/problem+${name}`
  })
  const [first, second, third] = [
    make('json', 'application/json'),
    make('xml', 'application/xml'),
    make('html', 'text/html')
  ] as const
  const chooser = makeChooser([
    first,
    second,
    third,
    { name: 'csv', extension: 'csv', mediaTypes: ['text/csv'], page: () => '' }
  ])
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  const table: [string | undefined, string | undefined][] = [
    [undefined, 'json'],
    ['*/*', 'json'],
    [browser, 'html'],
    ['application/xml', 'xml'],
    ['application/*;q=0.5, text/html;q=0.4', 'json'],
    ['APPLICATION/XML', 'xml'],
    ['application/xml;q=0, */*', 'json'],
    ['application/json;q=0, application/xml;q=0, */*;q=0.1', 'html'],
    ['*/*;q=0', undefined],
    ['text/csv', undefined],
    ['nonsense', undefined],
    ['', 'json']
  ]
  for (const [accept, name] of table) {
    const choose = () => chooser.choose('one', { accept }).representation.name
    for (const time of ['first', 'kept']) {
      if (name === undefined) t.throws(choose, { code: 'not-acceptable' }, `${accept}, ${time}`)
      else t.equal(choose(), name, `${accept}, ${time}`)
    }
  }
  t.equal(chooser.choose('page', { accept: 'text/csv' }).representation.name, 'csv')
  t.equal(chooser.choose('one', { suffix: 'xml', format: 'html', accept: 'application/json' }).representation, second)
  t.equal(chooser.choose('one', { format: 'html', accept: 'application/json' }).representation, third)
  t.throws(() => chooser.choose('one', { suffix: 'csv' }), { code: 'not-found' })
  t.throws(() => chooser.choose('one', { format: 'csv' }), {
    code: 'not-acceptable',
    errors: [{ parameter: 'format' }]
  })

  t.strictSame(chooser.chooseForProblem({ accept: browser }).mediaType, 'application/problem+html')
  t.strictSame(chooser.chooseForProblem({ accept: 'application/problem+xml' }).mediaType, 'application/problem+xml')
  t.strictSame(
    chooser.chooseForProblem({ accept: 'image/png' }).mediaType,
    'application/problem+json',
    'a problem is shown rather than nothing'
  )
  t.strictSame(chooser.chooseForProblem({ format: 'xml', accept: browser }).mediaType, 'application/problem+xml')
  t.strictSame(chooser.chooseForProblem({ format: 'csv' }).mediaType, 'application/problem+json')
  for (let i = 0; i < 250; i++) chooser.choose('one', { accept: `application/json;v=${i}, */*` })
  t.equal(
    chooser.choose('one', { accept: browser }).representation,
    third,
    'what is kept is bounded, and forgetting it changes nothing'
  )
})
