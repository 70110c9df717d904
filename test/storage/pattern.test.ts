import fc from 'fast-check'
import { RE2JS, RE2Set } from 're2js'
import t from 'tap'
import {
  compilePattern, ContainedText, measurePattern, Pattern, PatternSizeError
} from '../../lib/core/storage/patterns.js'
import { pages } from '../docs/pages.js'
import { evilPatterns } from '../evil-patterns.js'
import { runs } from '../size.js'

const small = evilPatterns.filter(({ refused }) => refused !== true).map(({ pattern }) => pattern)

// Pieces of patterns, and texts of what is in them.
const pieces = [
  'a', 'b', 'ab', '.', '^', '$', '\\b', '\\B', '[ab]', '[^a]', '\\n', '(?:a|b)', '(a|ab)', 'a*', 'b+?', '(?:ab)?',
  '(?i:A)', '\\pL', '\\d', '(?:a*)*', '(|a)+', 'a{2,3}', '(?m:^)', '(?m:$)', '(?s:.)', '\\z', '\\A', '😀', '|', '_',
  '(?:[(]{3}a){4}', '[])]{5}', '[^](]{2,}', '\\Q(\\E{3}', '[[:alpha:]({]{2}', '\\x{41}{3}', '\\p{Greek}{2}', '\\({7}'
]
const patterns = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 6 }).map(parts => parts.join(''))
const texts = fc.array(fc.constantFrom('a', 'b', 'A', '1', '_', '\n', ' ', 'é', '😀', '(', ')'), { maxLength: 12 })
  .map(characters => characters.join(''))

t.test('the size of a pattern is near the size of what is compiled', async t => {
  const known = [
    ...small, '', 'a', 'abc', 'a|b|cd', '(a)(b)', '(?:)', '^$', '(?m)^a$', '[^a]', '.', '(?s).', '\\pL', '(?i)k', 'a*',
    'a*?', '(?:a*)*', '(?:a?)+', '(|a)*', '(?:){9}', 'a{0}', 'a{3}', 'a{2,}', 'a{2,5}', '(?:a|b{3}){4}', '\\Qa.b\\E',
    '\\bw\\B', '[[:word:]-]+', '(?i)[a-z0-9._%+-]{1,64}@[a-z0-9.-]{1,255}', '[^\\x00-\\x{10FFFF}]', '\\x{1F600}|b',
    '(?P<name>a){3}', '(?<name>a|b){3}', '((a{3}){3}b){3}'
  ]
  // Without the instructions that begin and end every program. Empty alternatives take more than is written.
  const isEnough = (pattern: string): boolean =>
    measurePattern(pattern, Infinity) >= 0.4 * (RE2JS.compile(pattern).programSize() - 3)
  for (const pattern of known) {
    const compiled = RE2JS.compile(pattern).programSize()
    t.ok(isEnough(pattern), pattern)
    if (!pattern.includes('\\p')) t.ok(measurePattern(pattern, Infinity) <= 3 * compiled, pattern)
    const size = measurePattern(pattern, Infinity)
    t.doesNotThrow(() => measurePattern(pattern, size))
    t.throws(() => measurePattern(pattern, size - 1), PatternSizeError)
  }
  const repeated = fc.tuple(patterns, fc.integer({ min: 1, max: 9 })).map(([pattern, n]) => `a(?:${pattern}){${n}}b`)
  fc.assert(fc.property(fc.oneof(patterns, repeated), isEnough), { numRuns: runs(4000) })
  t.throws(() => measurePattern('(?i)[B-\u{1e942}]', 40), PatternSizeError, 'wide ranges are read one by one')
  t.equal(measurePattern('[B-\u{1e942}]', 40), 1)
  t.equal(measurePattern('(?i)[а-яё]+', 40), 4)
  t.ok(measurePattern('(?i)[一-龥]+', 40) < 20)
})

t.test('sizes are as the documentation says', async t => {
  const rows = [...(pages.get('docs/limits.md') as string).matchAll(/^\| `(.*)` \| (\d+) \|$/gm)]
  for (const [row, pattern, size] of rows) t.equal(measurePattern(pattern as string, 200), Number(size), row)
  t.ok(rows.length > 3)
})

t.test('what is too large is never compiled', async t => {
  const compiled = t.capture(RE2Set.prototype, 'add', RE2Set.prototype.add)
  for (const { pattern, refused } of evilPatterns) {
    if (refused === true) t.throws(() => compilePattern(pattern, 200), pattern.slice(0, 40))
  }
  t.strictSame(compiled(), [])
  t.doesNotThrow(() => compilePattern('a{40}b'))
  t.throws(() => compilePattern('a{40}b', 40), PatternSizeError, 'nor taken from what others may have')
  t.doesNotThrow(() => compilePattern('a{40}b', 100))
  t.equal(compiled().length, 1)
  t.throws(() => compilePattern('('), { name: 'RE2JSSyntaxException' })
})

t.test('so many patterns are kept, and no more', async t => {
  const compiled = t.capture(RE2Set.prototype, 'add', RE2Set.prototype.add)
  const patterns = Array.from({ length: 100 }, (_, index) => `kept${index}`)
  for (const pattern of patterns) compilePattern(pattern)
  compiled()
  for (const pattern of patterns.toReversed()) compilePattern(pattern)
  t.equal(compiled().length, 70)
})

t.test('a bound on the memory of the engine changes nothing that is found', async t => {
  let found = 0
  const all = runs(6000)
  fc.assert(fc.property(patterns, texts, (pattern, text) => {
    const expected = RE2JS.compile(pattern).test(text)
    if (expected) found++
    return new Pattern(pattern, Infinity).test(text) === expected
  }), { numRuns: all })
  t.ok(found > all / 10 && found < all * 0.9, `${found} of ${all} were found`)
  const random = Array.from({ length: 3000 }, (_, n) => String.fromCharCode(97 + (n * n * 31 % 1009) % 26)).join('')
  for (const pattern of ['(?:.*a){20}[0-9]', '[a-m].{110}[0-9]', '(?:\\pL|\\pN).{100}[0-9]']) {
    const compiled = new Pattern(pattern, Infinity)
    t.equal(compiled.test(random), false, pattern)
    t.equal(compiled.test(`${random}${'a'.repeat(200)}1`), true, pattern)
  }
})

t.test('of a long text, as much is searched as the size of the pattern allows', async t => {
  const rows: [search: { test (text: string): boolean }, searched: number][] = [
    [new Pattern('!', Infinity), 500_000],
    [new Pattern('[!]{2}|!', Infinity), 125_000],
    [new Pattern(`!|a${'b'.repeat(197)}`, Infinity), 2500],
    // Those of a host may be larger.
    [new Pattern(`!|a${'b'.repeat(1000)}`, Infinity), 2500],
    [new ContainedText('!'), 25_000_000],
    [new ContainedText(`!${'A'.repeat(199)}`), 125_000],
    [new ContainedText(`!${'A'.repeat(999)}`), 125_000]
  ]
  for (const [search, searched] of rows) {
    const end = `!${'a'.repeat(1000)}`
    const isCut = (at: number): boolean => !search.test(`${' '.repeat(at)}${end}`)
    t.notOk(isCut(0))
    t.notOk(isCut(searched - 1000))
    t.ok(isCut(searched), `${searched}`)
  }
})
