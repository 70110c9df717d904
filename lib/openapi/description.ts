import type { JsonSchema, RouteTarget } from '../exports.js'
import type { Answers } from './answers.js'
import type { Part } from './part.js'
import { objectOf, text } from './schemas.js'

/** What is said about a route. */
export interface Description {
  /** Begins the id of the operation. */
  readonly name: string
  readonly tag: string
  readonly summary: string
  readonly description: string
  /** The parameters of the path, without those of the prefix. */
  readonly path?: Readonly<Record<string, JsonSchema>>
  readonly headers?: JsonSchema
  readonly querystring?: JsonSchema
  readonly body?: JsonSchema
  readonly response: Answers
}

const requestHeaders = {
  'idempotency-key': { type: 'string', maxLength: 255, description: 'Makes retries safe' },
  'if-match': text('The revision you know: "7"'),
  'if-none-match': text('The ETag you have'),
  prefer: text('return=minimal: no body')
}

export function describeHeaders (...names: readonly (keyof typeof requestHeaders)[]): JsonSchema {
  return objectOf({}, Object.fromEntries(names.map(name => [name, requestHeaders[name]])))
}

/** A schema for each family that a route leads to. */
export function describeEach (
  part: Part, targets: readonly RouteTarget[], describe: (part: Part) => JsonSchema | readonly JsonSchema[]
): JsonSchema {
  return { anyOf: targets.flatMap(({ mount }) => describe(part.of(mount))) }
}
