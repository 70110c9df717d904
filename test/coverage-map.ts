import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const library = readdirSync('build/lib', { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.js'))
  .map(name => join('build/lib', name))

/** What tap counts the coverage of, whichever test runs: the library, and neither helpers of tests nor examples. */
export default (): string[] => library
