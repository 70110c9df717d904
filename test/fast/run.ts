import { readdirSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'

const root = join(import.meta.dirname, '..')

// What starts programs, asks a database, sends thousands of requests, or mounts dozens of families.
const slow = [
  `system${sep}`,
  join('storage', 'postgres'),
  join('storage', 'sql'),
  join('storage', 'conformance'),
  join('mount', 'mounting'),
  join('plugin', 'versions'),
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
    .sort((a, b) => sizeOf(b) - sizeOf(a))
  for (const [index, file] of files.entries()) if (shareOf(index, shares) === number) await import(join(root, file))
}

/** To and fro, as children choose teams: always in one direction, the first share would get the longer of each pair. */
function shareOf (index: number, shares: number): number {
  const place = index % (2 * shares)
  return place < shares ? place : 2 * shares - 1 - place
}

/** The longest file is not always the longest test, but near enough for shares that end at about the same time. */
function sizeOf (file: string): number {
  return statSync(join(root, file)).size
}
