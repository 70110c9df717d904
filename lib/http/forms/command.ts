import { addArticle } from '../../core/values/article.js'
import { describeCommandAnswers } from '../openapi/answers.js'
import { commandIdParameter, describeRequestHeaders, writeConditions } from '../openapi/parameters.js'
import { describeItemRoute } from '../openapi/route.js'
import { describeActions, describeCommand } from '../openapi/schemas.js'
import { readCommandId } from '../urls.js'
import { answerCommand } from './answer.js'
import { compileItemEnvelope } from './envelope.js'
import type { Form } from './form.js'
import { makeWriteEndpoint, operationRule } from './form.js'

/** `PUT …/{id}/commands/{command_id}` with `{ "action", "params" }`: a command that the client names. */
export const command: Form<'command'> = {
  name: 'command',
  endpoints (mount) {
    const { family } = mount
    if (family.operations.size === 0) return []
    const readItemEnvelope = compileItemEnvelope(family)
    return [makeWriteEndpoint(mount, {
      method: 'PUT',
      path: '/:id/commands/:command',
      read: request => ({ ...readItemEnvelope(request), id: readCommandId(request) }),
      answer: answerCommand,
      schema: describeItemRoute(mount, 'commands', `put-${family.singular}-command`, {
        summary: `Command ${addArticle(family.singular)}, under an id that the client chooses`,
        description: `${operationRule} ${commandRule}`,
        path: { command: commandIdParameter },
        headers: describeRequestHeaders(...writeConditions, 'prefer'),
        body: { anyOf: describeActions(mount, 'Action') },
        response: describeCommandAnswers(mount, describeCommand(mount))
      })
    })]
  }
}

/** The sentence that is true of commands that are put. */
export const commandRule = 'Put again, the same command is answered again and not done again; ' +
  'another one under its id is refused.'
