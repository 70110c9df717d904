import { Problem } from '../../http/problems.js'
import type { Grammar, Reading } from '../../query/grammar.js'
import type { Representation } from '../../representations/representation.js'

/** A query that was understood, or the problem that names all that is wrong with it. */
export function understand (grammar: Grammar, search: string, { interactive }: Representation): Reading {
  // A form sends its empty fields too.
  const parsed = grammar.parse(interactive === true ? search.split('&').filter(part => !/^[^=]*=$/.test(part)).join('&') : search)
  if (!('flaws' in parsed)) return parsed
  const [first, ...others] = parsed.flaws
  throw new Problem('invalid-query', `${first?.detail}${others.length === 0 ? '' : ` (and ${others.length} more)`}`, { errors: parsed.flaws })
}

/** The same for one resource, of which there is nothing to filter. */
export function understandOne (grammar: Grammar, search: string, representation: Representation): Reading {
  const reading = understand(grammar, search, representation)
  const errors = reading.parameters
    .filter(({ name }) => name !== 'fields' && name !== 'format')
    .map(({ name }) => ({ parameter: name, detail: 'One resource is read here; allowed are fields and format' }))
  if (errors.length > 0) throw new Problem('invalid-query', errors[0]?.detail as string, { errors })
  return reading
}

/** Finds what a path names, with or without a suffix. An id may itself end like one, so the whole text is tried first. */
export async function readSuffixed<T> (text: string, find: (name: string) => Promise<T | undefined>): Promise<{ item: T, suffix: string | undefined } | undefined> {
  const whole = await find(text)
  if (whole !== undefined) return { item: whole, suffix: undefined }
  const dot = text.lastIndexOf('.')
  const item = dot > 0 ? await find(text.slice(0, dot)) : undefined
  return item === undefined ? undefined : { item, suffix: text.slice(dot + 1) }
}
