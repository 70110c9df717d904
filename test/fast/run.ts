import { readdirSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'

const root = join(import.meta.dirname, '..')

// What starts programs, asks a database, sends thousands of requests, or mounts dozens of families.
const slow = [
  `system${sep}`,
  join('storage', 'postgres'),
  join('storage', 'sql'),
  join('storage', 'conformance'),
  join('storage', 'heavy'),
  join('storage', 'keys'),
  join('storage', 'migrate'),
  join('storage', 'constraints'),
  join('storage', 'cursor-plans'),
  join('storage', 'foreign-tables'),
  join('mount', 'mounting'),
  join('plugin', 'observability'),
  join('plugin', 'versions'),
  join('openapi', 'answers'),
  join('reads', 'export'),
  join('query', 'random-queries'),
  'examples',
  'model',
  'odd-strings'
]

/**
 * Runs a share of the tests in this process. To load everything anew for each file, as tap does, takes longer than most
 * of what is then done with it.
 */
export async function runShare (number: number, shares: number): Promise<void> {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.test.js') && !slow.some(start => file.startsWith(start)))
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
