import type { TSchema } from '@sinclair/typebox'
import type { Representation } from '../../representations/representation.js'

/** The media types of an answer, JSON first: the members are what the schema says, shown by each in its own way. */
export function describeContent (
  able: readonly Representation[],
  typeOf: (representation: Representation) => string,
  schema: TSchema,
  examples: Readonly<Record<string, object>> = {}
): Record<string, object> {
  const isJson = ({ name }: Representation) => name === 'json'
  const ordered = [...able.filter(isJson), ...able.filter(each => !isJson(each))]
  // One schema for all: a client that names no media type has one type then, and not a text besides.
  return Object.fromEntries(ordered.map(each => {
    const hasExamples = isJson(each) && Object.keys(examples).length > 0
    return [typeOf(each), { schema, ...(hasExamples ? { examples } : {}) }]
  }))
}

export const replayHeader = { 'idempotent-replayed': 'true where an earlier answer is given again' }

/** Headers, each with what it says. */
export function describeHeaders (headers: Record<string, string>): Record<string, object> {
  const entries = Object.entries(headers).map(([name, description]) => [name, { type: 'string', description }])
  return Object.fromEntries(entries)
}
