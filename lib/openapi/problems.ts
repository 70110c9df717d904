import { Type } from '@sinclair/typebox'
import type { Mount } from '../mount/mount.js'
import type { ProblemCode } from '../problems.js'
import { problemCodes } from '../problems.js'
import type { Representation } from '../representations/representation.js'
import { describeContent } from './content.js'
import { nameSharedSchema } from './mark.js'
import { exemplifyProblems } from './problem-examples.js'

const ProblemDocument = nameSharedSchema('Problem', Type.Object({
  type: Type.String({ description: 'urn:dealbook:problem:CODE' }),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.String({ description: 'What is wrong, and what is allowed' }),
  instance: Type.Optional(Type.String({ description: 'The path of the request' })),
  errors: Type.Optional(Type.Array(Type.Object({
    parameter: Type.Optional(Type.String({ description: 'The query parameter that is wrong' })),
    pointer: Type.Optional(Type.String({ description: 'The JSON pointer of the member that is wrong' })),
    detail: Type.String()
  }))),
  more: Type.Optional(Type.Integer({ description: 'How many flaws there are besides those in errors' })),
  state: Type.Optional(Type.String({ description: 'Where the state does not allow it: the state' })),
  operation: Type.Optional(Type.String({ description: 'What was asked for in it' })),
  allowed: Type.Optional(Type.Array(Type.String(), { description: 'The operations that are allowed in it' })),
  revision: Type.Optional(Type.Integer({ description: 'Where the precondition does not hold: the current revision' })),
  family: Type.Optional(Type.String({ description: 'Where something refers to it: the family of that' }))
}, { examples: Object.values(exemplifyProblems(['wrong-state'])).map(({ value }) => value) }))

/** The problems that a route answers with, several with one status as one. */
export function describeProblems (
  { representations }: Mount,
  ...codes: readonly ProblemCode[]
): Record<number, object> {
  const able = representations.filter(representation => representation.problem !== undefined)
  const statuses = new Set(codes.map(code => problemCodes[code].status))
  return Object.fromEntries([...statuses].map(status => {
    const here = codes.filter(code => problemCodes[code].status === status)
    return [status, {
      description: here.map(code => `${problemCodes[code].title} (${code})`).join('; '),
      content: describeContent(able, nameProblemType, ProblemDocument, exemplifyProblems(here))
    }]
  }))
}

function nameProblemType ({ problemType, mediaTypes }: Representation): string {
  return problemType ?? mediaTypes[0]
}

const refusals = [
  'invalid-query', 'invalid-body', 'malformed-json', 'not-found', 'not-acceptable', 'wrong-state', 'constraint',
  'precondition-failed', 'body-too-large', 'unsupported-media-type', 'storage-unavailable', 'busy'
] as const

/** The problems of every write of an item, and more. */
export function describeWriteProblems (mount: Mount, ...more: readonly ProblemCode[]): Record<number, object> {
  return describeProblems(mount, ...refusals, ...describeTaken(mount), ...describePreconditions(mount), ...more)
}

/** Where what is written must be unique. */
export function describeTaken ({ family }: Mount): ['taken'] | [] {
  return family.shape.unique === undefined ? [] : ['taken']
}

export function describePreconditions ({ preconditions }: Mount): ['precondition-required'] | [] {
  return preconditions === 'required' ? ['precondition-required'] : []
}
