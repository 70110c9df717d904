import { statSync } from 'node:fs'
import { join } from 'node:path'
import { testFiles } from '../folder.js'

const root = join(import.meta.dirname, '..')

// What starts programs, asks a database, sends thousands of requests, or mounts dozens of families.
const slow = [
  'system/',
  'storage/postgres',
  'storage/sql',
  'storage/conformance',
  'storage/heavy',
  'storage/keys',
  'storage/migrate',
  'storage/constraints',
  'storage/cursor-plans',
  'storage/foreign-tables',
  'mount/mounting',
  'plugin/observability',
  'plugin/versions',
  'openapi/answers',
  'reads/export',
  'query/random-queries',
  'examples',
  'model',
  'odd-strings'
]

/** Runs a share of the tests in this process, as `runFolder` does a folder. */
export async function runShare (number: number, shares: number): Promise<void> {
  const files = testFiles
    .filter(file => !slow.some(start => file.startsWith(start)))
    .map(file => ({ file, size: statSync(join(root, file)).size }))
    .sort((a, b) => b.size - a.size)
  for (const { file } of deal(files, shares)[number] ?? []) await import(join(root, file))
}

/** Each file to the share that has least. The longest file is not always the longest test, but near enough. */
function deal<T extends { readonly size: number }> (files: readonly T[], shares: number): T[][] {
  const dealt = Array.from({ length: shares }, () => ({ files: [] as T[], size: 0 }))
  for (const file of files) {
    const least = dealt.reduce((a, b) => b.size < a.size ? b : a)
    least.files.push(file)
    least.size += file.size
  }
  return dealt.map(({ files }) => files)
}
