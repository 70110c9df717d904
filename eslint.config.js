import simpleImportSort from 'eslint-plugin-simple-import-sort'
import neostandard, { plugins, resolveIgnoresFromGitignore } from 'neostandard'

export default [
  ...neostandard({ ts: true, ignores: resolveIgnoresFromGitignore() }),
  {
    plugins: { '@stylistic': plugins['@stylistic'], 'simple-import-sort': simpleImportSort },
    rules: {
      // what cannot be broken sensibly: a long regular expression, an address
      '@stylistic/max-len': ['error', { code: 120, ignoreRegExpLiterals: true, ignoreUrls: true }],
      // of Node, of packages, of this repository; each by the alphabet, without blank lines between them
      'simple-import-sort/imports': ['error', { groups: [['^node:', '^[^.]', '^\\.']] }]
    }
  },
  {
    files: ['**/*.ts'],
    rules: {
      // a schema and its type share one name: const Deal beside type Deal
      '@typescript-eslint/no-redeclare': 'off'
    }
  },
  {
    // one process of many in a simulation: its time, timers and randomness come from lib/core/runtime.ts,
    // and those of tools and webhooks from their system.ts
    files: ['lib/{core,http,tools,webhooks}/**/*.ts', 'lib/storage/postgres/replicas.ts'],
    ignores: ['lib/core/runtime.ts', 'lib/tools/system.ts', 'lib/webhooks/request.ts', 'lib/webhooks/system.ts'],
    rules: {
      'no-restricted-globals': ['error', 'performance', ...['Timeout', 'Interval'].flatMap(name =>
        [`set${name}`, `clear${name}`]), 'setImmediate'],
      'no-restricted-imports': ['error', {
        paths: ['node:timers', 'node:timers/promises', {
          name: 'node:crypto', importNames: ['randomUUID', 'randomBytes', 'randomInt']
        }]
      }],
      'no-restricted-properties': ['error',
        { object: 'Math', property: 'random' }, { object: 'Date', property: 'now' }],
      'no-restricted-syntax': ['error', 'NewExpression[callee.name="Date"][arguments.length=0]']
    }
  }
]
