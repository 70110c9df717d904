import type { FastifyReply } from 'fastify'
import { listAllTargets } from '../../core/book/offers.js'
import type { Outcome } from '../../core/service/execute.js'
import type { Stored } from '../../core/storage/storage.js'
import { readJsonParams, readSentParams } from '../body.js'
import { makeEtag, markItem, writeHttpDate } from '../conditional.js'
import { type Exchange, type Mount } from '../mount.js'
import { logEndpoints } from '../reads/log.js'
import { readItemId } from '../request.js'
import type { Endpoint } from '../routes.js'
import { attributes } from './attributes.js'
import { actionEndpoints, command, update } from './commands.js'
import { commands } from './rest-commands.js'
import {
  answeredByItem, answerEntry, documentWord, type Form, type FormEndpoint, makeWriteEndpoint, sendItem
} from './write.js'

const jsonOrForm = ['application/json', 'application/x-www-form-urlencoded']

/** `PUT …/{id}/hold` with the parameters as the body. */
const verb = makeWordForm('verb')

/** `PUT …/{id}/holded`, with the parameters as the body. */
const participle = makeWordForm('participle')

function makeWordForm<W extends 'verb' | 'participle'> (word: W): Form<W> {
  return {
    name: word,
    endpoints (mount) {
      const { family, forms } = mount
      // Some verbs equal their participle (split, put).
      const operations = [...family.operations.values()]
        .filter(({ operation }) => word === 'verb' || operation.participle !== operation.verb || !forms.has('verb'))
      return operations.map(({ operation, params }) => makeWriteEndpoint(mount, {
        method: 'PUT',
        path: `/:id/${operation[word]}`,
        read: request => ({
          action: operation.action,
          target: readItemId(family, request),
          params: readJsonParams(params, request)
        }),
        ...answeredByItem,
        ...documentWord(mount, word, operation.action, operation[word])
      }))
    }
  }
}

/** `POST …/{id}/holds` with the parameters as the body; GET reads the holds so far. */
const noun: Form<'noun'> = {
  name: 'noun',
  endpoints (mount) {
    const { family } = mount
    return listAllTargets(family).flatMap(({ operation, params }) => [
      makeWriteEndpoint(mount, {
        method: 'POST',
        path: `/:id/${operation.noun}`,
        submits: operation.action,
        read: request => ({
          action: operation.action,
          target: readItemId(family, request),
          params: readSentParams(params, request)
        }),
        // Only a change makes an entry.
        answer: (exchange, outcome) =>
          answerEntry(exchange, outcome, outcome.record.outcome === 'done', operation.noun),
        consumes: jsonOrForm,
        ...documentWord(mount, 'noun', operation.action, operation.noun)
      }),
      ...logEndpoints(mount, operation)
    ])
  }
}

/** `POST` on the collection creates, `DELETE` on an item deletes it. */
function lifecycleEndpoints (mount: Mount): Endpoint[] {
  const { family, family: { lifecycle } } = mount
  if (lifecycle === undefined) return []
  const { createAction, params, deletion } = lifecycle
  const create = makeWriteEndpoint(mount, {
    method: 'POST',
    path: '',
    submits: createAction,
    read: request => ({
      action: createAction,
      target: undefined,
      params: readSentParams(params, request)
    }),
    answer: answerCreated,
    consumes: jsonOrForm,
    documented: { kind: 'create', action: createAction }
  })
  if (deletion === undefined) return [create]
  const remove = makeWriteEndpoint(mount, {
    method: 'DELETE',
    path: '/:id',
    read: request => ({
      action: deletion.operation.action,
      target: readItemId(family, request),
      params: readJsonParams(deletion.params, request)
    }),
    answer: ({ reply }) => reply.code(204).send(),
    documented: { kind: 'remove', action: deletion.operation.action }
  })
  return [create, remove]
}

export function answerCreated (exchange: Exchange, outcome: Outcome): FastifyReply | Promise<FastifyReply> {
  const { mount: { urls }, request, reply, choice } = exchange
  const item = outcome.item as Stored
  return sendItem(exchange, 201, { ...outcome, item }, ({ family }) => {
    reply
      .header('location', urls.item(request, item.id))
      .header('etag', makeEtag(item.revision, choice.representation, family.tag + markItem(family, item)))
      .header('last-modified', writeHttpDate(item.updatedAt))
  })
}

/** The forms of operations. To add one, add its object to this list. */
export const forms = [verb, participle, update, noun, attributes, command, commands] as const

/** The name of a form of operations, as in the option `forms`. */
export type FormName = typeof forms[number]['name']

export function writeEndpoints (mount: Mount): Endpoint[] {
  const reads: Endpoint[] = []
  const writes = new Map<string, FormEndpoint>()
  for (const form of forms) {
    const { name, endpoints } = form
    // Without operations on items, these can be created, deleted and restored.
    const operations = [...mount.family.operations.values()]
    const isOffered = operations.some(({ past }) => form !== attributes || past !== 'restore')
    const isMounted = isOffered || form === noun || (form === commands && mount.family.writable)
    if (!mount.forms.has(name) || !isMounted) continue
    for (const endpoint of endpoints(mount)) {
      const route = `${endpoint.method} ${endpoint.path}`
      // Reads have no body to distinguish two forms on one path.
      if (endpoint.method === 'GET') reads.push(endpoint)
      else writes.set(route, combine(writes.get(route), endpoint))
    }
  }
  return [
    ...lifecycleEndpoints(mount),
    ...reads,
    ...writes.values(),
    ...(mount.unversioned === false ? [] : actionEndpoints(mount))
  ]
}

/** Forms may share a route: the body selects the form. */
function combine (before: FormEndpoint | undefined, endpoint: FormEndpoint): FormEndpoint {
  if (before === undefined) return endpoint
  const { documented: first, documented: { forms: others = [] } = {} } = before
  return {
    ...endpoint,
    ...(first && { documented: { ...first, forms: [...others, ...endpoint.documented?.forms ?? []] } }),
    handler: (request, reply) =>
      (before.accepts?.(request.body) === true ? before : endpoint).handler(request, reply)
  }
}
