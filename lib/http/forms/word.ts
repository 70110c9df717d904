import { Type } from '@sinclair/typebox'
import type { Operation } from '../../core/family/operation.js'
import { conditionHeaders, describeIdParameter, preferHeader } from '../openapi/parameters.js'
import { describeWriteProblems } from '../openapi/problems.js'
import { describeRoute } from '../openapi/route.js'
import { readItemId } from '../urls.js'
import { answerItem, describeItemAnswers } from './answer.js'
import { readJsonParams } from './body.js'
import { describeParams } from './envelope.js'
import type { Form } from './form.js'
import { makeWriteEndpoint, operationRule } from './form.js'

/** `PUT …/{id}/hold` with the parameters as the body. */
export const verb = makeWordForm('verb')

/** `PUT …/{id}/holded`: the same by another word. */
export const participle = makeWordForm('participle')

function makeWordForm<W extends 'verb' | 'participle'> (word: W): Form<W> {
  return {
    name: word,
    endpoints (mount) {
      const { family, forms } = mount
      const operations = [...family.operations.values()]
        .filter(({ operation }) => word === 'verb' || isApart(operation, forms))
      return operations.map(({ operation, params }) => makeWriteEndpoint(mount, {
        method: 'PUT',
        path: `/:id/${operation[word]}`,
        read: request => ({
          action: operation.action,
          target: readItemId(family, request),
          params: readJsonParams(params, request)
        }),
        answer: answerItem,
        schema: describeRoute(mount, 'operations', `${word}-${operation[word]}-${family.singular}`, {
          summary: operation.summary ?? operation.name,
          description: operationRule,
          params: Type.Object({ id: describeIdParameter(mount) }),
          headers: Type.Object({ ...conditionHeaders, ...preferHeader }),
          body: describeParams(mount, operation.action, params),
          response: { ...describeItemAnswers(mount), ...describeWriteProblems(mount) }
        })
      }))
    }
  }
}

// Some verbs have only one word for both (split, put).
function isApart ({ verb, participle }: Pick<Operation, 'verb' | 'participle'>, forms: ReadonlySet<string>): boolean {
  return participle !== verb || !forms.has('verb')
}
