import neostandard, { resolveIgnoresFromGitignore } from 'neostandard'

export default [
  ...neostandard({ ts: true, ignores: resolveIgnoresFromGitignore() }),
  {
    files: ['**/*.ts'],
    rules: {
      // a schema and its type share one name: const Deal beside type Deal
      '@typescript-eslint/no-redeclare': 'off'
    }
  }
]
