import { readdirSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'

const root = join(import.meta.dirname, '..')

const slow = [
  `system${sep}`, join('storage', 'postgres'), join('storage', 'sql'), join('query', 'random-queries'), 'model'
]

/**
 * Runs a share of the tests in this process. To load everything anew for each file, as tap does, takes longer than most
 * of what is then done with it.
 */
export async function runShare (number: number, shares: number): Promise<void> {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.test.js') && !slow.some(start => file.startsWith(start)))
    .sort((a, b) => sizeOf(b) - sizeOf(a))
  for (const [index, file] of files.entries()) if (index % shares === number) await import(join(root, file))
}

/** The longest file is not always the longest test, but near enough for shares that end at about the same time. */
function sizeOf (file: string): number {
  return statSync(join(root, file)).size
}
