import { Type } from '@sinclair/typebox'
import type { ProblemCode } from '../../core/problems.js'
import { problemCodes } from '../../core/problems.js'
import type { Representation } from '../../representations/representation.js'
import type { Mount } from '../mount.js'
import { describeContent, describeHeaders, replayHeader } from './content.js'
import { nameSharedSchema } from './mark.js'
import { exemplifyProblems } from './problem-examples.js'

const ProblemDocument = nameSharedSchema('Problem', Type.Object({
  type: Type.Unsafe<string>({
    type: 'string', enum: Object.keys(problemCodes).map(code => `urn:dealbook:problem:${code}`)
  }),
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

// By whoever is asked who may do what, and by the storage.
const anywhere = ['unauthorized', 'forbidden', 'storage-unavailable', 'busy', 'timeout'] as const

const waitHeader = { 'retry-after': 'Seconds to wait before the same is sent again' }

/** Headers of problems, by their status. */
const headersOf: Readonly<Record<number, Record<string, string>>> = {
  401: { 'www-authenticate': 'How to sign in, where the host says so' },
  409: replayHeader,
  415: {
    accept: 'The media types that are read here',
    'accept-post': 'The same in an answer to POST',
    'accept-patch': 'The same in an answer to PATCH'
  },
  503: waitHeader
}

/** The problems that a route answers with, its own and those of every route, several with one status as one. */
export function describeProblems (mount: Mount, ...own: readonly ProblemCode[]): Record<string, object> {
  const ended = mount.retirement.sunset === undefined ? [] : ['gone'] as const
  const codes = [...new Set<ProblemCode>([...own, ...anywhere, ...ended])]
  const statuses = new Set(codes.map(code => problemCodes[code].status))
  const described = [...statuses].map(status => {
    const here = codes.filter(code => problemCodes[code].status === status)
    const description = here.map(code => `${problemCodes[code].title} (${code})`).join('; ')
    return [status, describeProblem(mount, description, here, headersOf[status])]
  })
  const other = 'What the hooks of the host answer, or a fault of the server'
  return { ...Object.fromEntries(described), default: describeProblem(mount, other, [], waitHeader) }
}

function describeProblem (
  { representations }: Mount,
  description: string,
  codes: readonly ProblemCode[],
  headers: Record<string, string> = {}
): object {
  const able = representations.filter(representation => representation.problem !== undefined)
  const content = describeContent(able, nameProblemType, ProblemDocument, exemplifyProblems(codes))
  return { description, headers: describeHeaders(headers), content }
}

function nameProblemType ({ problemType, mediaTypes }: Representation): string {
  return problemType ?? mediaTypes[0]
}

const refusals = [
  'invalid-query', 'invalid-body', 'malformed-json', 'bad-request', 'not-found', 'not-acceptable', 'read-only',
  'wrong-state', 'constraint', 'precondition-failed', 'body-too-large', 'unsupported-media-type'
] as const

/** The problems of every write of an item, and more. */
export function describeWriteProblems (mount: Mount, ...more: readonly ProblemCode[]): Record<string, object> {
  return describeProblems(mount, ...refusals, ...describeTaken(mount), ...describePreconditions(mount), ...more)
}

/** Where what is written must be unique. */
export function describeTaken ({ family }: Mount): ['taken'] | [] {
  return family.shape.unique === undefined ? [] : ['taken']
}

/** Where what is deleted may be referred to. */
export function describeInUse ({ family: { lifecycle } }: Mount, action: string): ['in-use'] | [] {
  return action === lifecycle?.deletion.operation.action ? ['in-use'] : []
}

export function describePreconditions ({ preconditions }: Mount): ['precondition-required'] | [] {
  return preconditions === 'required' ? ['precondition-required'] : []
}
