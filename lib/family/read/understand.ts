import { toProblem } from '../../http/to-problem.js'
import { Problem } from '../../problems.js'
import type { Grammar, ParsedQuery } from '../../query/grammar.js'
import type { Representation } from '../../representations/representation.js'

/** A query that was understood, or the problem that names all that is wrong with it. */
export function understand (grammar: Grammar, search: string, { interactive }: Representation): ParsedQuery {
  // A form sends its empty fields too.
  const parsed = grammar.parse(interactive === true ? search.split('&').filter(part => !/^[^=]*=$/.test(part)).join('&') : search)
  if (!('flaws' in parsed)) return parsed
  const [first, ...others] = parsed.flaws
  throw new Problem('invalid-query', `${first?.detail}${others.length === 0 ? '' : ` (and ${others.length} more)`}`, { errors: parsed.flaws })
}

/** The same for one resource, of which there is nothing to filter. */
export function understandOne (grammar: Grammar, search: string, representation: Representation): ParsedQuery {
  const reading = understand(grammar, search, representation)
  const errors = reading.parameters
    .filter(({ name }) => name !== 'fields' && name !== 'format')
    .map(({ name }) => ({ parameter: name, detail: 'One resource is read here; allowed are fields and format' }))
  if (errors.length > 0) throw new Problem('invalid-query', errors[0]?.detail as string, { errors })
  return reading
}

/** Finds what a path names, with or without a suffix. An id may itself end like one, so the whole text is tried first. */
export async function readSuffixed<T> (text: string, find: (name: string) => Promise<T | undefined>): Promise<{ item: T, suffix: string | undefined } | undefined> {
  const dot = text.lastIndexOf('.')
  const names = dot > 0 ? [text, text.slice(0, dot)] : [text]
  return await firstOf(names, async name => {
    const item = await find(name)
    return item === undefined ? undefined : { item, suffix: name === text ? undefined : text.slice(dot + 1) }
  })
}

/** The first that is found. A refusal counts only where no other is found, since each is asked for by itself. */
export async function firstOf<K, T> (candidates: readonly K[], find: (candidate: K) => Promise<T | undefined>): Promise<T | undefined> {
  const refusals: unknown[] = []
  for (const candidate of candidates) {
    try {
      const found = await find(candidate)
      if (found !== undefined) return found
    } catch (error) {
      if (isFailure(error)) throw error
      refusals.push(error)
    }
  }
  if (refusals.length > 0) throw refusals[0]
  return undefined
}

// What broke, in contrast to what was refused, is not tried in another way.
function isFailure (error: unknown): boolean {
  return toProblem(error).statusCode >= 500
}
