import { invalidQuery } from '../problems.js'
import type { Grammar, ParsedQuery } from '../query/grammar.js'
import type { Representation } from '../representations/representation.js'

/** The query of a page, or the problem that names all that is wrong with it. */
export function parsePageQuery (grammar: Grammar, search: string, { interactive }: Representation): ParsedQuery {
  // A form sends its empty fields too.
  const isFilled = (part: string) => !/^[^=]*=$/.test(part)
  const parsed = grammar.parse(interactive === true ? search.split('&').filter(isFilled).join('&') : search)
  if ('flaws' in parsed) throw invalidQuery(parsed.flaws)
  return parsed
}

/** The members to show of one resource, of which there is nothing to filter; undefined for all. */
export function parseFields (
  grammar: Grammar,
  search: string,
  representation: Representation
): readonly string[] | undefined {
  if (search === '') return undefined
  const { parameters, fields } = parsePageQuery(grammar, search, representation)
  const misplaced = parameters.filter(({ name }) => name !== 'fields' && name !== 'format')
  if (misplaced.length === 0) return fields
  const detail = 'One resource is read here; allowed are fields and format'
  throw invalidQuery(misplaced.map(({ name }) => ({ parameter: name, detail })))
}
