import type { Operation } from '../../core/family/operation.js'
import { describeItemAnswers } from '../openapi/answers.js'
import { describeRequestHeaders, writeConditions } from '../openapi/parameters.js'
import { describeItemRoute } from '../openapi/route.js'
import { describeParams } from '../openapi/schemas.js'
import { readItemId } from '../urls.js'
import { answerItem } from './answer.js'
import { readJsonParams } from './body.js'
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
        schema: describeItemRoute(mount, 'operations', `${word}-${operation[word]}-${family.singular}`, {
          summary: operation.summary ?? operation.name,
          description: operationRule,
          headers: describeRequestHeaders(...writeConditions, 'prefer'),
          body: describeParams(mount, operation.action, params),
          response: describeItemAnswers(mount)
        })
      }))
    }
  }
}

// Some verbs have only one word for both (split, put).
function isApart ({ verb, participle }: Pick<Operation, 'verb' | 'participle'>, forms: ReadonlySet<string>): boolean {
  return participle !== verb || !forms.has('verb')
}
