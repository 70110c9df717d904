import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isFast } from './size.js'

const root = import.meta.dirname

// Longest first, so that at the end no process works alone.
const slow = [
  'cluster/',
  'system/',
  'simulation/',
  'storage/',
  'authorization/planted-leaks',
  'examples',
  'forms/large-bodies',
  'http/slow-readers',
  'mount/mounting',
  'model',
  'odd-strings',
  'openapi/answers',
  'openapi/components',
  'plugin/observability',
  'plugin/other-plugins',
  'plugin/versions',
  'query/random-queries',
  'reads/export',
  'repo',
  'service/renamed-model'
]
// Of these, what needs neither a database nor another program is in `npm run test:fast` too.
const needed = [
  'postgres', 'sql', 'conformance', 'heavy', 'keys', 'migrate', 'constraints', 'cursor-plans', 'foreign', 'log-order',
  'decimal-columns'
]
const alsoFast = new RegExp(`^storage/(?!${needed.join('|')})`)

const isSlow = (file: string): boolean => slow.some(start => file.startsWith(start))

function weigh (file: string): number {
  // Minutes, in which it mostly waits.
  if (file.startsWith('cluster/')) return Infinity
  return (isSlow(file) ? 1e9 : 0) + statSync(join(root, file)).size
}

/** The files of tests that this run is to do, in the order in which they begin. */
export function listFiles (): string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map(file => file.replaceAll('\\', '/'))
    .filter(file => file.endsWith('.test.js') && !file.startsWith('tools/'))
    // What was built from a file that is gone is still there.
    .filter(file => existsSync(join('test', file.replace(/js$/, 'ts'))))
    .filter(file => !isFast || !isSlow(file) || alsoFast.test(file))
    .map(file => ({ file, weight: weigh(file) }))
    .sort((a, b) => b.weight - a.weight)
    .map(({ file }) => file)
}
