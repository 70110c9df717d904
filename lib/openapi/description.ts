import type { JsonSchema, RouteTarget } from '../exports.js'
import type { Answers } from './answers.js'
import type { DocumentPart } from './document-part.js'
import { objectOf, textSchema } from './schemas.js'

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
  'if-match': textSchema('The revision you know: "7"'),
  'if-none-match': textSchema('The ETag you have'),
  prefer: textSchema('return=minimal: no body')
}

export function describeRequestHeaders (...names: readonly (keyof typeof requestHeaders)[]): JsonSchema {
  return objectOf({}, Object.fromEntries(names.map(name => [name, requestHeaders[name]])))
}

/** A schema for each family that a route leads to. */
export function describeEach (
  part: DocumentPart,
  targets: readonly RouteTarget[],
  describe: (part: DocumentPart) => JsonSchema | readonly JsonSchema[]
): JsonSchema {
  return { anyOf: targets.flatMap(({ mount }) => describe(part.of(mount))) }
}
