import { addArticle } from '../../core/values/article.js'
import { describeItemAnswers } from '../openapi/answers.js'
import { describeRequestHeaders, writeConditions } from '../openapi/parameters.js'
import { describeItemRoute } from '../openapi/route.js'
import { describeActions } from '../openapi/schemas.js'
import { answerItem } from './answer.js'
import { hasMember } from './body.js'
import { compileItemEnvelope } from './envelope.js'
import type { Form } from './form.js'
import { makeWriteEndpoint } from './form.js'

/** `PUT …/{id}` with `{ "action", "params" }`. */
export const update: Form<'update'> = {
  name: 'update',
  endpoints (mount) {
    const { family } = mount
    if (family.operations.size === 0) return []
    return [makeWriteEndpoint(mount, {
      method: 'PUT',
      path: '/:id',
      accepts: body => hasMember(body, 'action'),
      read: compileItemEnvelope(family),
      answer: answerItem,
      schema: describeItemRoute(mount, 'operations', `update-${family.singular}`, {
        summary: `Change ${addArticle(family.singular)}`,
        description: 'With an action, the operation that it names.',
        headers: describeRequestHeaders(...writeConditions, 'prefer'),
        body: { anyOf: describeActions(mount, 'Action') },
        response: describeItemAnswers(mount)
      })
    })]
  }
}
