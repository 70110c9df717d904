import fc from 'fast-check'
import { RE2JS } from 're2js'
import t from 'tap'
import { compilePattern, Pattern } from '../../lib/core/storage/pattern.js'
import { runAutomaton } from '../../lib/core/storage/pattern-automaton.js'
import type { Program } from '../../lib/core/storage/pattern-program.js'
import { runProgram } from '../../lib/core/storage/pattern-program.js'
import { measurePattern, PatternSizeError } from '../../lib/core/storage/pattern-size.js'
import { Turn } from '../../lib/core/storage/turn.js'
import { pages } from '../docs/pages.js'
import { evilPatterns } from '../evil-patterns.js'

/** The outcome of steps, and how many pauses there were. */
function finish<T> (steps: Generator<void, T>): { result: T, pauses: number } {
  for (let pauses = 0; ; pauses++) {
    const { done, value } = steps.next()
    if (done === true) return { result: value, pauses }
  }
}

const small = evilPatterns.filter(({ refused }) => refused !== true).map(({ pattern }) => pattern)

t.test('the size is never below what is compiled, and near it where there are no large classes', async t => {
  const patterns = [
    ...small, '', 'a', 'abc', 'a|b|cd', '(a)(b)', '(?:)', '^$', '(?m)^a$', '[^a]', '.', '(?s).', '\\pL', '(?i)k', 'a*',
    'a*?', '(?:a*)*', '(?:a?)+', '(|a)*', '(?:){9}', 'a{0}', 'a{3}', 'a{2,}', 'a{2,5}', '(?:a|b{3}){4}', '\\Qa.b\\E',
    '\\bw\\B', '[[:word:]-]+', '(?i)[a-z0-9._%+-]{1,64}@[a-z0-9.-]{1,255}', '[^\\x00-\\x{10FFFF}]', '\\x{1F600}|b'
  ]
  for (const pattern of patterns) {
    const size = measurePattern(pattern, Infinity)
    const compiled = RE2JS.compile(pattern).programSize()
    t.ok(size >= compiled, `${pattern}: ${size}, ${compiled}`)
    if (!/\\p/i.test(pattern)) t.ok(size <= 2 * compiled + 2, `${pattern}: ${size}, ${compiled}`)
    if (!pattern.includes('\\p')) t.doesNotThrow(() => measurePattern(pattern, size))
    t.throws(() => measurePattern(pattern, size - 1), PatternSizeError)
  }
  t.throws(() => measurePattern('(', Infinity), { name: 'RE2JSSyntaxException' })
  t.throws(() => measurePattern('(?i)[B-\u{1e942}]', 1000), PatternSizeError, 'wide ranges are gone through')
  t.equal(measurePattern('[B-\u{1e942}]', 1000), 3)
  t.ok(measurePattern('(?i)[а-яё]+', 1000) < 10)
  t.ok(measurePattern('(?i)[一-龥]+', 1000) < 10)
})

t.test('sizes are as the documentation says', async t => {
  const rows = [...(pages.get('docs/limits.md') as string).matchAll(/^\| `(.*)` \| (\d+) \|$/gm)]
  for (const [row, pattern, size] of rows) t.equal(measurePattern(pattern as string, 1000), Number(size), row)
  t.ok(rows.length > 3)
})

t.test('what is too large is never compiled', async t => {
  const compiled = t.capture(RE2JS, 'compile', RE2JS.compile)
  for (const { pattern, refused } of evilPatterns) {
    if (refused === true) t.throws(() => compilePattern(pattern, 1000), pattern.slice(0, 40))
  }
  t.strictSame(compiled(), [])
  t.doesNotThrow(() => compilePattern('a{40}b'))
  t.throws(() => compilePattern('a{40}b', 40), PatternSizeError, 'nor taken from what others may have')
  t.doesNotThrow(() => compilePattern('a{40}b', 100))
  t.equal(compiled().length, 1)
})

t.test('what is kept is bounded by its size in all', async t => {
  const compiled = t.capture(RE2JS, 'compile', RE2JS.compile)
  const patterns = Array.from({ length: 300 }, (_, index) => `kept${index}.{${index}}`)
  for (const pattern of patterns) compilePattern(pattern)
  compiled()
  for (const pattern of patterns.toReversed()) compilePattern(pattern)
  const again = compiled().length
  t.ok(again > 200 && again < 300, `${again} of ${patterns.length} were not kept any more`)
})

// Pieces of patterns, and texts of what is in them.
const pieces = [
  'a', 'b', 'ab', '.', '^', '$', '\\b', '\\B', '[ab]', '[^a]', '\\n', '(?:a|b)', '(a|ab)', 'a*', 'b+?', '(?:ab)?',
  '(?i:A)', '\\pL', '\\d', '(?:a*)*', '(|a)+', 'a{2,3}', '(?m:^)', '(?m:$)', '(?s:.)', '\\z', '\\A', '😀', '|', '_'
]
const texts = fc.array(fc.constantFrom('a', 'b', 'A', '1', '_', '\n', ' ', 'é', '😀'), { maxLength: 12 })
  .map(characters => characters.join(''))

t.test('both ways to match in steps find what the engine finds', async t => {
  const patterns = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 6 }).map(parts => parts.join(''))
  let found = 0
  fc.assert(fc.property(patterns, texts, (pattern, text) => {
    const engine = RE2JS.compile(pattern)
    const expected = engine.test(text)
    if (expected) found++
    const { dfa, prog } = RE2JS.compile(pattern).re2()
    return finish(runAutomaton(dfa, 10, text, 3)).result === expected &&
      finish(runProgram(prog as Program, text, 3)).result === expected
  }), { numRuns: 3000 })
  t.ok(found > 300 && found < 2700, `${found} of 3000 were found`)
})

t.test('a long text is matched with pauses, also where the automaton is of no use', async t => {
  const random = Array.from({ length: 20_000 }, (_, n) => String.fromCharCode(97 + (n * n * 31 % 1009) % 26)).join('')
  for (const [pattern, isUseful] of [['(?:.*a){20}[0-9]', true], ['[a-m].{110}[0-9]', false]] as const) {
    const { dfa, prog } = RE2JS.compile(pattern).re2()
    dfa.stateBudget = dfa.memBudget = 50_000
    const automaton = finish(runAutomaton(dfa, 100, random, 5000))
    t.equal(automaton.result, isUseful ? false : undefined, pattern)
    t.ok(automaton.pauses > 2, `${automaton.pauses} pauses`)
    const program = finish(runProgram(prog as Program, random, 20_000))
    t.equal(program.result, false)
    t.ok(program.pauses > 20, `${program.pauses} pauses`)
    const compiled = new Pattern(pattern, Infinity)
    t.equal(await compiled.testInTurns(random, new Turn()), false)
    t.equal(await compiled.testInTurns(`${random}${'a'.repeat(200)}1`, new Turn()), true)
  }
})
