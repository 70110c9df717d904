import { canShow, type JsonSchema, type ProblemCode, type ProblemExamples, type Representation } from '../exports.js'
import type { DocumentPart } from './document-part.js'
import { referToProblem, toSchemaName } from './schemas.js'

/** By status. */
export type Answers = Readonly<Record<string, object>>

/** Of writes, only the first representation is described: clients choose others by Accept as for reads. */
export function describeAnswer (
  { options: { representations = [] } }: DocumentPart,
  kind: 'one' | 'page' | 'written',
  description: string,
  schema: JsonSchema,
  ...headers: readonly string[]
): object {
  const isJson = ({ name }: Representation): boolean => name === 'json'
  const able = representations.filter(each => canShow(each, kind === 'page' ? 'page' : 'one'))
  // One schema, JSON first: clients that name no media type then get one type, without a text besides.
  const all = [...able.filter(isJson), ...able.filter(each => !isJson(each))]
  const content = (kind === 'written' ? all.slice(0, 1) : all).map(({ mediaTypes }) => [mediaTypes[0], { schema }])
  return { description, ...describeResponseHeaders(headers), content: Object.fromEntries(content) }
}

/** The type `null` means that there is no body. */
export function describeNothing (description: string, ...headers: readonly string[]): object {
  return { type: 'null', description, ...describeResponseHeaders(headers) }
}

function describeResponseHeaders (names: readonly string[]): { headers?: Answers } {
  return names.length === 0 ? {} : { headers: Object.fromEntries(names.map(name => [name, { type: 'string' }])) }
}

// Their examples are the same on all routes of an item.
const itemProblems: readonly ProblemCode[] = ['not-found', 'precondition-failed', 'precondition-required', 'gone']

/**
 * An answer for each status, with the problems themselves as examples, and one for all others.
 *
 * @param subject begins the names of the schemas that have the examples, such as HoldDeal409
 * @param hasOwnId whether the example of a reused id is its own, too
 */
export function describeRefusals (
  part: DocumentPart, subject = '', examples: ProblemExamples = {}, hasOwnId = false
): Answers {
  const all = { ...examples, ...part.problems.any }
  const byStatus = new Map<number, ProblemCode[]>()
  for (const code of Object.keys(all) as ProblemCode[]) {
    const { statusCode = 0 } = all[code] ?? {}
    byStatus.set(statusCode, [...byStatus.get(statusCode) ?? [], code])
  }
  const answers = Array.from(byStatus, ([status, codes]) => {
    const [code] = codes as [ProblemCode]
    const isOfItem = itemProblems.includes(code) || (code === 'id-reused' && !hasOwnId)
    const documents = codes.map(code => all[code]?.document() ?? {})
    const name = `${isOfItem ? toSchemaName(part) : subject}${status}`
    return [status, describeProblem(part, name, codes.join(' or '), documents)]
  })
  const failures = [part.problems.failure.document()]
  return {
    ...Object.fromEntries(answers),
    default: describeProblem(part, 'OtherProblem', 'Any other problem', failures)
  }
}

function describeProblem (part: DocumentPart, name: string, description: string, examples: readonly object[]): object {
  const any = referToProblem(part)
  const schema = part.name(name, { allOf: [any], examples })
  return { description, content: { 'application/problem+json': { schema } } }
}

/** Without what is the same elsewhere: representations, problems, and answers without a body. */
export function shortenAnswers (answers: Answers): Answers {
  const short = Object.entries(answers as Record<string, { description: string, content: object }>)
    .filter(([status]) => status === '200' || status === '201')
    .map(([status, { description, content }]) =>
      [status, { description, content: Object.fromEntries(Object.entries(content).slice(0, 1)) }])
  return Object.fromEntries(short)
}
