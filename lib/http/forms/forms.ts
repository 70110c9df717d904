import type { FastifyReply } from 'fastify'
import { listTargets } from '../../core/book/offers.js'
import type { Outcome } from '../../core/service/execute.js'
import type { Stored } from '../../core/storage/storage.js'
import { addArticle } from '../../core/values/words.js'
import { readJsonParams, readSentParams } from '../body.js'
import { makeEtag, markItem, writeHttpDate } from '../conditional.js'
import { type Exchange, type Mount, showItem } from '../mount.js'
import { describeWriteProblems } from '../openapi/problems.js'
import {
  describeAnswer, type DescribedWord, describeItemRoute, describeItemWrite, describeNothing, describeRequestHeaders,
  describeRoute, describeWords, jsonOrForm, minimal, redirected, writeConditions
} from '../openapi/routes.js'
import { describeCommand, describeLinkedItem, describeNew, describeUnchanged } from '../openapi/schemas.js'
import { logEndpoints } from '../reads/log.js'
import { readItemId } from '../request.js'
import type { Endpoint } from '../routes.js'
import { attributes } from './attributes.js'
import { actionEndpoints, command, update } from './commands.js'
import { commands } from './rest-commands.js'
import { answeredByItem, answerEntry, type Form, type FormEndpoint, makeWriteEndpoint, sendItem } from './write.js'

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
      const words = operations.map(({ operation }) => operation[word])
      const described = describeWords(mount, word, words, operations, action =>
        describeItemWrite(mount, word, action))
      return operations.map(({ operation, params }, index) => makeWriteEndpoint(mount, {
        method: 'PUT',
        path: `/:id/${operation[word]}`,
        read: request => ({
          action: operation.action,
          target: readItemId(family, request),
          params: readJsonParams(params, request)
        }),
        ...answeredByItem,
        ...described[index] as DescribedWord
      }))
    }
  }
}

/** `POST …/{id}/holds` with the parameters as the body; GET reads the holds so far. */
const noun: Form<'noun'> = {
  name: 'noun',
  endpoints (mount) {
    const { family } = mount
    const targeted = listTargets(family)
    const nouns = targeted.map(({ operation: { noun } }) => noun)
    const described = describeWords(mount, 'noun', nouns, targeted, action => ({
      headers: describeRequestHeaders(...writeConditions, 'idempotency-key', 'prefer'),
      consumes: jsonOrForm,
      response: {
        200: describeAnswer(mount, 'written', 'Nothing to change', describeUnchanged(mount)),
        201: describeAnswer(mount, 'written', 'The new entry of the log', describeCommand(mount), 'location'),
        204: minimal,
        303: redirected,
        ...describeWriteProblems(mount, action, 'noun')
      }
    }))
    return targeted.flatMap(({ operation, params }, index) => [
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
        ...described[index] as DescribedWord
      }),
      ...logEndpoints(mount, operation)
    ])
  }
}

/** `POST` on the collection creates, `DELETE` on an item deletes it. */
function lifecycleEndpoints (mount: Mount): Endpoint[] {
  const { family, family: { lifecycle, singular } } = mount
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
    schema: describeRoute(mount, 'items', `create-${singular}`, {
      summary: `Create ${addArticle(singular)}`,
      description: 'Send an Idempotency-Key to make retries safe.',
      headers: describeRequestHeaders('idempotency-key', 'prefer'),
      consumes: jsonOrForm,
      body: describeNew(mount, params),
      response: {
        201: describeAnswer(
          mount, 'written', `The new ${singular}`, describeLinkedItem(mount), 'location', 'etag'
        ),
        303: redirected,
        ...describeWriteProblems(mount, createAction)
      }
    })
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
    schema: describeItemRoute(mount, 'items', `delete-${singular}`, {
      summary: `Delete ${addArticle(singular)}`,
      description: 'Its log is kept.',
      headers: describeRequestHeaders(...writeConditions, 'idempotency-key'),
      response: {
        204: describeNothing('Deleted'),
        ...describeWriteProblems(mount, deletion.operation.action)
      }
    })
  })
  return [create, remove]
}

export function answerCreated (exchange: Exchange, outcome: Outcome): FastifyReply | Promise<FastifyReply> {
  const { mount, mount: { family }, request, reply, choice } = exchange
  const created = outcome.item as Stored
  const document = showItem(mount, request, created)
  reply
    .header('location', document.links.self)
    .header('etag', makeEtag(created.revision, choice.representation, family.tag + markItem(family, created)))
    .header('last-modified', writeHttpDate(created.updatedAt))
  return sendItem(exchange, 201, outcome, { ...document, ...outcome.secrets })
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
    // Without operations, items can be created, and their deletion has a noun.
    const isMounted = mount.family.operations.size > 0 || form === noun || (form === commands && mount.family.writable)
    if (!mount.forms.has(name) || !isMounted) continue
    for (const endpoint of endpoints(mount)) {
      const route = `${endpoint.method} ${endpoint.path}`
      // Reads have no body to distinguish two forms on one path.
      if (endpoint.method === 'GET') reads.push(endpoint)
      else writes.set(route, combine(writes.get(route), endpoint, name === mount.recommendedForm ? '' : name))
    }
  }
  return [
    ...lifecycleEndpoints(mount),
    ...reads,
    ...writes.values(),
    ...(mount.unversioned === false ? [] : actionEndpoints(mount))
  ]
}

/** Forms may share a route: the body selects the form. @param name empty for the form that needs no mention */
function combine (before: FormEndpoint | undefined, endpoint: FormEndpoint, name: string): FormEndpoint {
  const { schema } = endpoint
  if (before === undefined) {
    return name === '' ? endpoint : { ...endpoint, schema: { ...schema, summary: `${schema.summary} (form ${name})` } }
  }
  return {
    ...endpoint,
    schema: {
      ...before.schema,
      summary: before.schema.summary?.replace(/\(form (.*)\)$/, `(forms $1 and ${name})`) as string,
      description: `${before.schema.description} ${schema.description}`,
      body: { anyOf: [before.schema.body, schema.body] }
    },
    handler: (request, reply) =>
      (before.accepts?.(request.body) === true ? before : endpoint).handler(request, reply)
  }
}
