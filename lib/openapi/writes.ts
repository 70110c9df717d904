import type { ActionModel, JsonSchema, RouteModel } from '../exports.js'
import { type Answers, describeAnswer, describeNothing, describeProblems } from './answers.js'
import { describeEach, describeHeaders, type Description } from './description.js'
import type { Part } from './part.js'
import {
  describeAction, describeActions, describeChanges, describeCommand, describeCommandId, describeId, describeLinkedItem,
  describeParams, describeProperties, describeResult, describeSent, describeUnchanged, findAction, joinSchemas,
  nameItem, objectOf, strict
} from './schemas.js'

const redirected = describeNothing('To the result, if an HTML form was sent', 'location')

const minimal = describeNothing('Done, without a body')

export function describeCreation (part: Part, { targets: [target] }: RouteModel): Description {
  const { name, singular, one } = part.model
  const action = findAction(part, target?.action) as ActionModel
  return {
    name: `create-${singular}`,
    tag: name,
    summary: `Create ${one}`,
    description: 'Send an Idempotency-Key to make retries safe.',
    headers: describeHeaders('idempotency-key', 'prefer'),
    body: describeParams(part, action),
    response: {
      201: describeAnswer(part, 'written', `The new ${singular}`, describeLinkedItem(part), 'location', 'etag'),
      303: redirected,
      ...describeRefusals(part, action.action)
    }
  }
}

export function describeDeletion (part: Part, { targets: [target] }: RouteModel): Description {
  const { name, singular, one } = part.model
  return {
    name: `delete-${singular}`,
    tag: name,
    summary: `Delete ${one}`,
    description: 'Its log is kept.',
    headers: describeHeaders('if-match', 'idempotency-key'),
    response: { 204: describeNothing('Deleted'), ...describeRefusals(part, target?.action) }
  }
}

function describeRefusals (part: Part, action = ''): Answers {
  return describeProblems(part, action, part.problems.actions[action])
}

/** Of a write that is answered by the item. */
function describeItemWrite (part: Part, refusals: () => Answers): Pick<Description, 'headers' | 'response'> {
  const { singular } = part.model
  return {
    headers: describeHeaders('if-match', 'idempotency-key'),
    response: {
      200: describeAnswer(part, 'written', `The changed ${singular}`, describeLinkedItem(part)),
      204: minimal,
      ...refusals()
    }
  }
}

function describeEntryWrite (part: Part, refusals: () => Answers): Pick<Description, 'headers' | 'response'> {
  return {
    headers: describeHeaders('if-match', 'idempotency-key', 'prefer'),
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
export function describeOperation (part: Part, { forms: [form = ''], path, targets }: RouteModel): Description {
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
      description: action.isConditional ? '409 if the state does not allow it.' : 'Allowed in every state.',
      body: bodies[0] as JsonSchema,
      ...describeWrite(part, () => describeRefusals(part, action.action))
    }
  }
  const all = `${nameItem(part)}${form === 'noun' ? 'Noun' : 'Participle'}Params`
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
function summarize ({ model: { one } }: Part, { name, summary }: ActionModel): string {
  return summary === `${name} ${one}` ? name : summary
}

const updates: Readonly<Record<string, { readonly description: string, describe (part: Part): JsonSchema }>> = {
  update: { description: 'With an action: runs that operation.', describe: describeAction },
  attributes: { description: 'Without an action: sets the members that you send.', describe: describeChanges }
}

export function describeUpdate (part: Part, { method, forms }: RouteModel): Description {
  const { name, singular, one, changeable } = part.model
  const isRecommended = part.isRecommended(forms[0])
  const common = {
    tag: `${name}: operations`,
    ...describeItemWrite(part, () => isRecommended ? describeUpdateRefusals(part) : {})
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

function describeUpdateRefusals (part: Part): Answers {
  return describeProblems(part, `${nameItem(part)}Action`, part.problems.update)
}

export function describeCommandRoute (part: Part, { forms, isShared, targets }: RouteModel): Description {
  const { name, singular, one } = part.model
  const entry = isShared ? describeEach(part, targets, describeCommand) : describeCommand(part)
  return {
    name: isShared ? 'put-command' : `put-${singular}-command`,
    tag: isShared ? 'commands' : `${name}: operations`,
    summary: isShared ? 'Change an item of any family' : `Change ${one}`,
    description: 'You choose the id of the command, which makes retries safe.',
    path: { command: describeCommandId(part) },
    headers: describeHeaders('if-match', 'prefer'),
    body: isShared ? describeEach(part, targets, describeTargeted) : describeAction(part),
    response: {
      200: describeAnswer(part, 'written', 'A retry: nothing is done twice', entry),
      201: describeAnswer(part, 'written', 'The command', entry, 'location'),
      204: minimal,
      ...part.isRecommended(forms[0]) && describeProblems(part, `${nameItem(part)}Action`, part.problems.command, true)
    }
  }
}

/** Any action with its parameters, on an item of the family. */
function describeTargeted (part: Part): JsonSchema[] {
  return describeActions(part, 'Command', { [part.model.singular]: describeId(part) })
}

export function describeCommands (part: Part, { forms, targets }: RouteModel): Description {
  const sent = describeEach(part, targets, describeSent)
  const results = describeEach(part, targets, describeResult)
  return {
    name: 'send-commands',
    tag: 'commands',
    summary: 'Send many commands',
    description: 'In this order, each for itself; with atomic all in one commit, or none.',
    headers: describeHeaders('idempotency-key', 'prefer'),
    body: objectOf({
      commands: { type: 'array', items: sent, minItems: 1 }
    }, {
      atomic: { type: 'boolean', default: false }
    }, strict),
    response: {
      200: describeAnswer(part, 'written', 'The outcome of each, in this order',
        objectOf({ items: { type: 'array', items: results } })),
      ...part.isRecommended(forms[0]) && describeProblems(part, 'SentCommands', part.problems.commands, true)
    }
  }
}

export function describeActionRoute (part: Part, { targets }: RouteModel): Description {
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
    headers: describeHeaders('idempotency-key'),
    body: { anyOf: bodies },
    response: { 200: describeNothing('Done') }
  }
}
