import { Type } from '@sinclair/typebox'
import type { TObject, TProperties, TSchema } from '@sinclair/typebox'
import type { RouteSchema } from '../../http/routes.js'
import { CommandMembers } from '../model/command.js'
import { describePaging, headersOf, idParams, operationId, PageLinks, problems, shown, validatorHeaders } from './reads.js'
import type { CompiledOperation, Lifecycle } from '../model/family.js'
import type { Mount } from '../mount/mount.js'
import type { Spoken } from '../model/operation.js'
import type { Params } from '../model/params.js'

const conditionHeaders = {
  'if-match': Type.Optional(Type.String({ description: 'The revision that the change was decided on, as an entity tag: "7" or "7-json"; 412 if it is not current' })),
  'if-unmodified-since': Type.Optional(Type.String({ description: 'An HTTP date; 412 if it changed since' }))
}
const keyHeader = {
  'idempotency-key': Type.Optional(Type.String({ maxLength: 255, description: 'Makes the request safe to repeat: the first answer is given again' }))
}
const preferHeader = {
  prefer: Type.Optional(Type.String({ description: 'return=minimal for an answer without a body' }))
}

const rule = 'Where nothing would change, it succeeds and changes nothing; where the state does not allow it, 409 says what is allowed now.'
const commandRule = 'Put again, the same command is answered again and not done again; another one under its id is refused.'

const refusals = ['invalid-query', 'invalid-body', 'malformed-json', 'not-found', 'not-acceptable', 'wrong-state', 'precondition-failed',
  'body-too-large', 'unsupported-media-type', 'storage-unavailable', 'busy'] as const

/** An operation by its verb or its participle. */
export function describeWord (mount: Mount, { operation, params }: CompiledOperation, word: 'verb' | 'participle'): RouteSchema {
  return {
    operationId: operationId(mount, `${word}-${operation[word]}-${mount.family.singular}`),
    summary: `${operation.summary ?? operation.name} (form ${word})`,
    tags: [mount.family.name],
    description: rule,
    params: idParams(mount),
    headers: Type.Object({ ...conditionHeaders, ...preferHeader }),
    body: params.schema,
    response: { ...itemAnswers(mount), ...writeProblems(mount) }
  }
}

/** An operation by its noun. */
export function describeNoun (mount: Mount, { operation, params }: { readonly operation: Spoken, readonly params: Params }): RouteSchema {
  return {
    operationId: operationId(mount, `noun-${operation.noun}-${mount.family.singular}`),
    summary: `${operation.summary ?? operation.name} (form noun)`,
    tags: [mount.family.name],
    description: `${rule} The entry in the log is the answer.`,
    params: idParams(mount),
    headers: Type.Object({ ...conditionHeaders, ...keyHeader, ...preferHeader }),
    consumes: formsToo,
    body: params.schema,
    response: {
      200: shown(mount, 'one', 'Nothing had to be changed', linkedCommandSchema(mount)),
      201: shown(mount, 'one', 'The entry that was made', linkedCommandSchema(mount), { location: 'Where it is', ...replayHeader }),
      204: minimal,
      303: redirected,
      ...writeProblems(mount, 'cross-site', 'id-reused', 'invalid-header')
    }
  }
}

/** The single update and the attribute update, which share one path. */
export function describePut (mount: Mount): RouteSchema {
  const { family, forms } = mount
  const bodies = [
    ...(forms.has('update') ? envelopes(mount) : []),
    ...(forms.has('attributes') ? [Type.Partial(family.schema)] : [])
  ]
  return {
    operationId: operationId(mount, `update-${family.singular}`),
    summary: `Change a ${family.singular} (forms update and attributes)`,
    description: 'With an action, the operation that it names; without, the members as they are wanted.',
    tags: [family.name],
    params: idParams(mount),
    headers: Type.Object({ ...conditionHeaders, ...preferHeader }),
    body: Type.Union(bodies),
    response: { ...itemAnswers(mount), ...writeProblems(mount) }
  }
}

export function describeAttributes (mount: Mount): RouteSchema {
  const { family } = mount
  return {
    operationId: operationId(mount, `patch-${family.singular}`),
    summary: `Change members of a ${family.singular} (form attributes)`,
    description: `A JSON merge patch (RFC 7396). Members that can be changed so: ${(family.attributes?.fields ?? []).join(', ') || 'none'}; the others must be as they are.`,
    tags: [family.name],
    params: idParams(mount),
    headers: Type.Object({ ...conditionHeaders, ...preferHeader }),
    consumes: ['application/merge-patch+json', 'application/json'],
    body: Type.Partial(family.schema),
    response: { ...itemAnswers(mount), ...writeProblems(mount) }
  }
}

export function describeCommand (mount: Mount): RouteSchema {
  const { family } = mount
  return {
    operationId: operationId(mount, `put-${family.singular}-command`),
    summary: `Command a ${family.singular}, under an id that the client chooses (form command)`,
    tags: [family.name],
    description: `${rule} ${commandRule}`,
    params: Type.Object({ ...idParams(mount).properties, command: commandId }),
    headers: Type.Object({ ...conditionHeaders, ...preferHeader }),
    body: Type.Union(envelopes(mount)),
    response: { ...commandAnswers(mount), ...writeProblems(mount, 'id-reused', 'bad-request') }
  }
}

/** What commands of several families look like: those that come later add theirs. */
export interface SharedSchemas {
  readonly bodies: TSchema[]
  readonly answers: TSchema[]
}

export function addSharedSchemas ({ bodies, answers }: SharedSchemas, mount: Mount): void {
  bodies.push(...envelopes(mount, { [mount.family.singular]: idParams(mount).properties.id as TSchema }))
  answers.push(linkedCommandSchema(mount))
}

export function describeSharedCommand (mount: Mount, { bodies, answers }: SharedSchemas): RouteSchema {
  return {
    operationId: operationId(mount, 'put-command', false),
    summary: 'Command an item, under an id that the client chooses (form commands)',
    description: `The member named like the family says what the command is for. ${commandRule}`,
    tags: ['commands'],
    params: Type.Object({ command: commandId }),
    headers: Type.Object({ ...conditionHeaders, ...preferHeader }),
    body: Type.Unsafe({ anyOf: bodies }),
    response: { ...commandAnswers(mount, Type.Unsafe({ anyOf: answers })), ...writeProblems(mount, 'id-reused', 'bad-request') }
  }
}

export function describeSharedEntry (mount: Mount, { answers }: SharedSchemas): RouteSchema {
  return {
    operationId: operationId(mount, 'read-command', false),
    summary: 'Read a command',
    tags: ['commands'],
    description: 'Of whichever family: what was asked for, and what became of it.',
    params: Type.Object({ command: commandId }),
    response: entryAnswers(mount, Type.Unsafe({ anyOf: answers }))
  }
}

export function describeLog (mount: Mount, operation?: Spoken): RouteSchema {
  const { family } = mount
  const what = operation === undefined ? 'commands' : operation.noun
  return {
    operationId: operationId(mount, `list-${family.singular}-${what}`),
    summary: operation === undefined ? `Read the log of a ${family.singular}` : `Read the ${operation.noun} of a ${family.singular}`,
    tags: [family.name],
    description: 'In the order of the changes; the log outlives the item.',
    params: idParams(mount),
    querystring: describePaging(mount, mount.logGrammar, Object.keys(CommandMembers.properties)),
    response: {
      200: shown(mount, 'page', 'A page of commands, in the order of the changes', Type.Object({
        items: Type.Array(commandSchema(mount)),
        page: Type.Integer({ minimum: 1 }),
        pageSize: Type.Integer({ minimum: 1 }),
        total: Type.Optional(Type.Integer({ minimum: 0 })),
        links: PageLinks
      }), { link: 'The links of the page (RFC 8288)' }),
      ...problems(mount, 'invalid-query', 'not-found', 'not-acceptable', 'storage-unavailable')
    }
  }
}

export function describeEntry (mount: Mount, operation?: Spoken): RouteSchema {
  const { family } = mount
  return {
    operationId: operationId(mount, `read-${family.singular}-${operation === undefined ? 'commands' : operation.noun}`),
    summary: operation === undefined ? `Read a command of a ${family.singular}` : `Read one of the ${operation.noun} of a ${family.singular}`,
    tags: [family.name],
    description: 'What was asked for, and what became of it.',
    params: Type.Object({ ...idParams(mount).properties, command: commandId }),
    response: entryAnswers(mount)
  }
}

export function describeCreate (mount: Mount): RouteSchema {
  const { family } = mount
  return {
    operationId: operationId(mount, `create-${family.singular}`),
    summary: `Create a ${family.singular}`,
    tags: [family.name],
    description: 'What the client does not send is given by the service. With an Idempotency-Key, the request can be repeated safely.',
    headers: Type.Object({ ...keyHeader, ...preferHeader }),
    consumes: formsToo,
    body: (family.lifecycle as Lifecycle).params.schema,
    response: {
      201: shown(mount, 'one', `The ${family.singular} as it was created, with links`, Type.Object({
        ...family.schema.properties,
        links: Type.Object({ self: Type.String(), collection: Type.String(), commands: Type.String() })
      }), { location: 'Where it is', ...validatorHeaders, ...replayHeader }),
      303: redirected,
      ...problems(mount, 'invalid-query', 'invalid-body', 'malformed-json', 'invalid-header', 'cross-site', 'not-acceptable', 'body-too-large', 'unsupported-media-type', 'id-reused', 'storage-unavailable')
    }
  }
}

export function describeDelete (mount: Mount): RouteSchema {
  const { family } = mount
  return {
    operationId: operationId(mount, `delete-${family.singular}`),
    summary: `Delete a ${family.singular}`,
    tags: [family.name],
    description: 'Its log stays.',
    params: idParams(mount),
    headers: Type.Object(conditionHeaders),
    response: { 204: { type: 'null', description: 'It is gone' }, ...problems(mount, 'invalid-query', 'invalid-body', 'not-found', 'precondition-failed', ...required(mount), 'storage-unavailable', 'busy') }
  }
}

/** `POST /command/{action}/` */
export function describeAction (mount: Mount, action: string, summary: string, body: TObject): RouteSchema {
  return {
    operationId: operationId(mount, `command-${action}`, false),
    summary: `${summary} (without an answer)`,
    tags: [mount.family.name],
    description: 'The same as in every other form, answered by its status alone.',
    headers: Type.Object({ ...conditionHeaders, ...keyHeader }),
    body,
    response: { 200: { type: 'null', description: 'Done; there is no body', headers: headersOf(replayHeader) }, ...writeProblems(mount, 'cross-site', 'id-reused', 'invalid-header') }
  }
}

const commandId = Type.String({ pattern: '^[A-Za-z0-9._~-]{1,100}$', description: 'The id of the command' })
const replayHeader = { 'idempotent-replayed': 'true where an earlier answer is given again' }
// The type says that there is no body.
const redirected = { type: 'null', description: 'To what came of it, where a form was sent' }
const minimal = { type: 'null', description: 'Done; no body, as Prefer: return=minimal asks' }
const formsToo = ['application/json', 'application/x-www-form-urlencoded']

function itemAnswers (mount: Mount): Record<number, object> {
  const { family } = mount
  return {
    200: shown(mount, 'one', `The ${family.singular} after it`, family.schema, { 'content-location': `The address of the ${family.singular}` }),
    204: minimal
  }
}

function commandAnswers (mount: Mount, command: TSchema = linkedCommandSchema(mount)): Record<number, object> {
  return {
    200: shown(mount, 'one', 'The same command again: nothing was done twice', command, replayHeader),
    201: shown(mount, 'one', 'The command, done', command, { location: 'Where it is' }),
    204: minimal
  }
}

function entryAnswers (mount: Mount, command: TSchema = linkedCommandSchema(mount)): Record<number, object> {
  return {
    200: shown(mount, 'one', 'The command', command, validatorHeaders),
    304: { type: 'null', description: 'The client has the current representation' },
    ...problems(mount, 'invalid-query', 'not-found', 'not-acceptable', 'precondition-failed', 'storage-unavailable')
  }
}

function writeProblems (mount: Mount, ...more: Parameters<typeof problems>[1][]): Record<number, object> {
  return problems(mount, ...refusals, ...required(mount), ...more)
}

function required ({ preconditions }: Mount): ['precondition-required'] | [] {
  return preconditions === 'required' ? ['precondition-required'] : []
}

function envelopes ({ family }: Mount, others: TProperties = {}): TObject[] {
  return [...family.operations.values()].map(({ operation, params }) => Type.Object({
    ...others,
    action: Type.Literal(operation.action),
    params: Object.values(params.fields).every(({ optional }) => optional) ? Type.Optional(params.schema) : params.schema
  }, { additionalProperties: false }))
}

function commandSchema (mount: Mount): TObject {
  const { id, ...members } = CommandMembers.properties
  return Type.Object({ id, [mount.family.singular]: idParams(mount).properties.id as TSchema, ...members })
}

function linkedCommandSchema (mount: Mount): TObject {
  return Type.Object({ ...commandSchema(mount).properties, links: Type.Object({ self: Type.Optional(Type.String()), [mount.family.singular]: Type.String() }) })
}
