import type { ActionModel, JsonSchema, ProblemExamples, RouteModel } from '../exports.js'
import { type Answers, describeAnswer, describeNothing, describeRefusals } from './answers.js'
import { describeEach, describeRequestHeaders, type Description } from './description.js'
import type { DocumentPart } from './document-part.js'
import {
  describeAction, describeActions, describeChanges, describeCommand, describeCommandId, describeItemId,
  describeLinkedItem, describeParams, describeProperties, describeSent, describeSentResult, describeUnchanged,
  findAction, joinSchemas, objectOf, strict, toSchemaName
} from './schemas.js'

const redirected = describeNothing('To the result, if an HTML form was sent', 'location')

const minimal = describeNothing('Done, without a body')

export function describeCreation (part: DocumentPart, { targets: [target] }: RouteModel): Description {
  const { name, singular, one } = part.model
  const action = findAction(part, target?.action) as ActionModel
  return {
    name: `create-${singular}`,
    tag: name,
    summary: `Create ${one}`,
    description: 'Send an Idempotency-Key to make retries safe.',
    headers: describeRequestHeaders('idempotency-key', 'prefer'),
    body: describeParams(part, action),
    response: {
      201: describeAnswer(part, 'written', `The new ${singular}`, describeLinkedItem(part), 'location', 'etag'),
      303: redirected,
      ...describeActionRefusals(part, action.action)
    }
  }
}

export function describeDeletion (part: DocumentPart, { targets: [target] }: RouteModel): Description {
  const { name, singular, one } = part.model
  return {
    name: `delete-${singular}`,
    tag: name,
    summary: `Delete ${one}`,
    description: 'Its log is kept.',
    headers: describeRequestHeaders('if-match', 'idempotency-key'),
    response: { 204: describeNothing('Deleted'), ...describeActionRefusals(part, target?.action) }
  }
}

function describeActionRefusals (part: DocumentPart, action = ''): Answers {
  return describeRefusals(part, action, part.problems.actions[action])
}

/** Of a write that is answered by the item. */
function describeItemWrite (part: DocumentPart, refusals: () => Answers): Pick<Description, 'headers' | 'response'> {
  const { singular } = part.model
  return {
    headers: describeRequestHeaders('if-match', 'idempotency-key'),
    response: {
      200: describeAnswer(part, 'written', `The changed ${singular}`, describeLinkedItem(part)),
      204: minimal,
      ...refusals()
    }
  }
}

function describeEntryWrite (part: DocumentPart, refusals: () => Answers): Pick<Description, 'headers' | 'response'> {
  return {
    headers: describeRequestHeaders('if-match', 'idempotency-key', 'prefer'),
    response: {
      200: describeAnswer(part, 'written', 'Nothing to change', describeUnchanged(part)),
      201: describeAnswer(part, 'written', 'The new entry of the log', describeCommand(part), 'location'),
      204: minimal,
      303: redirected,
      ...refusals()
    }
  }
}

/** With the path of one operation, or of several, whose bodies are in the order of their words. */
export function describeOperation (part: DocumentPart, { forms: [form = ''], path, targets }: RouteModel): Description {
  const { name, singular, one } = part.model
  const [action, ...more] = targets.map(({ action }) => findAction(part, action) as ActionModel) as
    [ActionModel, ...ActionModel[]]
  const bodies = [action, ...more].map(each => describeParams(part, each))
  const describeWrite = form === 'noun' ? describeEntryWrite : describeItemWrite
  const tag = `${name}: operations`
  if (!path.endsWith('/:word')) {
    return {
      name: `${form}-${path.split('/').at(-1)}-${singular}`,
      tag,
      summary: summarize(part, action),
      description: describeState(action),
      body: bodies[0] as JsonSchema,
      ...describeWrite(part, () => describeActionRefusals(part, action.action))
    }
  }
  const all = `${toSchemaName(part)}${form === 'noun' ? 'Noun' : 'Participle'}Params`
  return {
    name: `${form}-${singular}`,
    tag,
    ...describeWrite(part, () => ({})),
    summary: `Change ${one}`,
    description: 'The bodies are in the order of the words.',
    path: { word: { type: 'string', enum: targets.map(({ word }) => word) } },
    body: more.length === 0 ? bodies[0] as JsonSchema : part.name(all, joinSchemas(bodies))
  }
}

/** Where an operation has no text, its name is enough here. */
function describeState ({ kind, isConditional }: ActionModel): string {
  if (kind === 'restore') return 'As it was, from the log. Does nothing if it exists.'
  return isConditional || kind === 'revert' ? '409 if the state does not allow it.' : 'Allowed in every state.'
}

function summarize ({ model: { one } }: DocumentPart, { name, summary }: ActionModel): string {
  return summary === `${name} ${one}` ? name : summary
}

const updates: Readonly<Record<string, { readonly description: string, describe (part: DocumentPart): JsonSchema }>> = {
  update: { description: 'With an action: runs that operation.', describe: describeAction },
  attributes: { description: 'Without an action: sets the members that you send.', describe: describeChanges }
}

export function describeUpdate (part: DocumentPart, { method, forms }: RouteModel): Description {
  const { name, singular, one, changeable } = part.model
  const common = {
    tag: `${name}: operations`,
    ...describeItemWrite(part, () => describeUpdateRefusals(part, forms, part.problems.update))
  }
  if (method === 'PATCH') {
    return {
      ...common,
      name: `patch-${singular}`,
      summary: `Change members of ${one}`,
      description: `A JSON merge patch (RFC 7396). It can change ${changeable.join(', ') || 'none'}.`,
      body: describeChanges(part)
    }
  }
  const known = forms.map(form => updates[form] as typeof updates[string])
  return {
    ...common,
    name: `update-${singular}`,
    summary: `Change ${one}`,
    description: known.map(({ description }) => description).join(' '),
    body: joinSchemas(known.map(({ describe }) => describe(part)))
  }
}

/** Of a body that names the action. Only the recommended form has them: they are the same in the others. */
function describeUpdateRefusals (
  part: DocumentPart, [form]: readonly string[], examples: ProblemExamples, hasOwnId = false
): Answers {
  return part.isRecommended(form) ? describeRefusals(part, `${toSchemaName(part)}Action`, examples, hasOwnId) : {}
}

export function describeCommandRoute (part: DocumentPart, { forms, isShared, targets }: RouteModel): Description {
  const { name, singular, one } = part.model
  const entry = isShared ? describeEach(part, targets, describeCommand) : describeCommand(part)
  return {
    name: isShared ? 'put-command' : `put-${singular}-command`,
    tag: isShared ? 'commands' : `${name}: operations`,
    summary: isShared ? 'Change an item of any family' : `Change ${one}`,
    description: 'You choose the id of the command, which makes retries safe.',
    path: { command: describeCommandId(part) },
    headers: describeRequestHeaders('if-match', 'prefer'),
    body: isShared ? describeEach(part, targets, describeTargeted) : describeAction(part),
    response: {
      200: describeAnswer(part, 'written', 'A retry: nothing is done twice', entry),
      201: describeAnswer(part, 'written', 'The command', entry, 'location'),
      204: minimal,
      ...describeUpdateRefusals(part, forms, part.problems.command, true)
    }
  }
}

/** Any action with its parameters, on an item of the family. */
function describeTargeted (part: DocumentPart): JsonSchema[] {
  return describeActions(part, 'Command', { [part.model.singular]: describeItemId(part) })
}

export function describeCommands (part: DocumentPart, { forms, targets }: RouteModel): Description {
  const sent = describeEach(part, targets, describeSent)
  const results = describeEach(part, targets, describeSentResult)
  return {
    name: 'send-commands',
    tag: 'commands',
    summary: 'Send many commands',
    description: 'In this order, each for itself; with atomic all in one commit, or none.',
    headers: describeRequestHeaders('idempotency-key', 'prefer'),
    body: objectOf({
      commands: { type: 'array', items: sent, minItems: 1 }
    }, {
      atomic: { type: 'boolean', default: false }
    }, strict),
    response: {
      200: describeAnswer(part, 'written', 'The outcome of each, in this order',
        objectOf({ items: { type: 'array', items: results } })),
      ...part.isRecommended(forms[0]) && describeRefusals(part, 'SentCommands', part.problems.commands, true)
    }
  }
}

export function describeActionRoute (part: DocumentPart, { targets }: RouteModel): Description {
  const bodies = targets.map(({ mount, action }) => {
    const its = part.of(mount)
    return describeProperties(its, findAction(its, action) as ActionModel)
  })
  return {
    name: 'command',
    tag: 'commands',
    summary: 'Change an item of any family by its action',
    description: 'The bodies are in the order of the words.',
    path: { word: { type: 'string', enum: targets.map(({ word }) => word) } },
    headers: describeRequestHeaders('idempotency-key'),
    body: { anyOf: bodies },
    response: { 200: describeNothing('Done') }
  }
}
