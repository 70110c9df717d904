import { Type } from '@sinclair/typebox'
import { addArticle } from '../../core/values/article.js'
import { conditionHeaders, describeIdParameter, preferHeader } from '../openapi/parameters.js'
import { describeWriteProblems } from '../openapi/problems.js'
import { describeRoute } from '../openapi/route.js'
import { answerItem, describeItemAnswers } from './answer.js'
import { hasMember } from './body.js'
import { compileItemEnvelope, describeActions } from './envelope.js'
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
      schema: describeRoute(mount, 'operations', `update-${family.singular}`, {
        summary: `Change ${addArticle(family.singular)}`,
        description: 'With an action, the operation that it names.',
        params: Type.Object({ id: describeIdParameter(mount) }),
        headers: Type.Object({ ...conditionHeaders, ...preferHeader }),
        body: describeActions(mount),
        response: { ...describeItemAnswers(mount), ...describeWriteProblems(mount) }
      })
    })]
  }
}
