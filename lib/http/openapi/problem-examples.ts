import type { ProblemCode } from '../../core/problems.js'
import { invalidBody, invalidQuery, notFound, preconditionFailed, Problem } from '../../core/problems.js'

const id = '01890a5d-ac96-774b-bcce-b302099a8057'
const path = `/rest/v1/deals/${id}`

/** Problems as a client of deals meets them; of all others, the title says enough. */
const met: readonly Problem[] = [
  invalidQuery([{ parameter: 'min-price', detail: 'min-price must be a number' }]),
  invalidBody([{ pointer: '/reason', detail: 'is missing' }]),
  notFound('deal', id),
  new Problem('wrong-state', 'complete is not allowed while the deal is held; allowed now: unhold, cancel', {
    members: { state: 'held', operation: 'complete', allowed: ['unhold', 'cancel'] }
  }),
  preconditionFailed('deal', 7),
  new Problem('precondition-required', 'Send If-Match with the revision that you know of the deal'),
  new Problem('id-reused', 'The command id "c-1" was used for another command')
]

/** Examples of problems by their codes, as an answer has them. */
export function exemplifyProblems (codes: readonly ProblemCode[]): Record<string, { readonly value: object }> {
  return Object.fromEntries(met.filter(({ code }) => codes.includes(code)).map(problem =>
    [problem.code, { value: problem.document(path) }]))
}
