import type { FastifyInstance } from 'fastify'

type Json = Record<string, unknown>

/** The document of a host with everything in the place of the references to it, for tests of what it says. */
export function wholeDocument<T> (app: FastifyInstance): T {
  const document = JSON.parse(JSON.stringify(app.swagger())) as Json
  return fillIn(document, document) as T
}

/** A part of a document in the same way. */
export function fillIn (value: unknown, document: Json): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(each => fillIn(each, document))
  const { $ref } = value as { $ref?: unknown }
  if (typeof $ref === 'string') return fillIn(find($ref, document), document)
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, fillIn(each, document)]))
}

/** What a reference in a document leads to. */
export function find (reference: string, document: Json): unknown {
  const steps = reference.replace(/^#\//, '').split('/')
  const found = steps.reduce<unknown>((here, step) => (here as Json | undefined)?.[step], document)
  if (found === undefined) throw new Error(`${reference} leads nowhere`)
  return found
}
