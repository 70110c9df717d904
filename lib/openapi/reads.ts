import type { JsonSchema, RouteModel } from '../exports.js'
import { describeAnswer, describeNothing, describeRefusals } from './answers.js'
import { describeEach, describeRequestHeaders, type Description } from './description.js'
import type { DocumentPart } from './document-part.js'
import {
  describeCommand, describeCommandId, describeHome, describeListedItem, describeLogEntry, describeOffers, describePage,
  describeReadItem, objectOf, strict, toSchemaName
} from './schemas.js'

const pastParameters: Readonly<Record<string, JsonSchema>> = {
  revision: { type: 'integer', minimum: 1, description: 'The item as it was after this change' },
  at: { type: 'string', format: 'date-time', description: 'The item as it was at this time, instead of revision' }
}

/** The list of the items has all parameters, the others mention the rest. */
function describeQuerystring (
  part: DocumentPart, kind: 'page' | 'log' | 'feed' | 'bare' | 'item' | 'format'
): JsonSchema {
  const { options: { representations = [] }, model } = part
  const { filters, parameters, isWritable, logFilters: { family, ...ofLog } } = model
  const { after, maxpagesize, expand, fields } = parameters as Record<string, JsonSchema>
  const format = { type: 'string', enum: representations.map(({ name }) => name), description: 'Instead of Accept' }
  const ifAny = { ...expand && { expand } }
  const known: Readonly<Record<typeof kind, Readonly<Record<string, JsonSchema | undefined>>>> = {
    page: { ...parameters, format, ...filters },
    log: { after, maxpagesize, ...ofLog },
    feed: { after, maxpagesize, family, ...ofLog },
    bare: { after, maxpagesize, ...ifAny },
    item: { fields, ...ifAny, ...isWritable && pastParameters },
    format: { format }
  }
  return objectOf({}, known[kind] as Record<string, JsonSchema>, strict)
}

export function describeHomeRoute (part: DocumentPart): Description {
  return {
    name: 'read-home',
    tag: 'home',
    summary: 'List the families',
    description: 'The families that you may list, each with the number of its items and of those in each state.',
    querystring: describeQuerystring(part, 'format'),
    response: { 200: describeAnswer(part, 'one', 'The families', describeHome(part)), ...describeRefusals(part) }
  }
}

export function describeList (part: DocumentPart): Description {
  const { name, members: [first], operators } = part.model
  const page = `${toSchemaName(part)}Page`
  const schema = part.name(page, describePage(part, describeListedItem(part)))
  return {
    name: `list-${name}`,
    tag: name,
    summary: `List ${name}`,
    description: 'Items match all filters, and any value of a repeated one. ' +
      `Fields also have ${operators.map(name => `.${name}`).join(', ')}, or are compared as in ${first}>=1.`,
    querystring: describeQuerystring(part, 'page'),
    response: {
      200: describeAnswer(part, 'page', `A page of ${name}`, schema, 'link'),
      ...describeRefusals(part, page, part.problems.list)
    }
  }
}

export function describeItemRoute (part: DocumentPart): Description {
  const { name, singular, one } = part.model
  return {
    name: `read-${singular}`,
    tag: name,
    summary: `Read ${one}`,
    description: 'With the ETag of an earlier response in If-None-Match: 304 if nothing has changed.',
    querystring: describeQuerystring(part, 'item'),
    headers: describeRequestHeaders('if-none-match'),
    response: {
      200: describeAnswer(part, 'one', `The ${singular}`, describeReadItem(part), 'etag'),
      304: describeNothing('Not changed since'),
      ...describeRefusals(part, toSchemaName(part), part.problems.item)
    }
  }
}

export function describeOperations (part: DocumentPart): Description {
  const { name, singular, one } = part.model
  return {
    name: `list-${singular}-operations`,
    tag: `${name}: operations`,
    summary: `List the operations of ${one}`,
    description: 'The operations that you may use, and whether the state allows them now.',
    response: { 200: describeAnswer(part, 'page', 'The operations', describeOffers(part)) }
  }
}

export function describeLog (part: DocumentPart): Description {
  const { name, singular, one } = part.model
  const page = part.name(`${toSchemaName(part)}EntryPage`, describePage(part, describeLogEntry(part)))
  return {
    name: `list-${singular}-commands`,
    tag: `${name}: log`,
    summary: `List the commands of ${one}`,
    description: `Oldest first, with the filters of lists. The log is kept if the ${singular} is deleted.`,
    querystring: describeQuerystring(part, 'log'),
    response: { 200: describeAnswer(part, 'page', 'A page of commands', page, 'link') }
  }
}

export function describeEntryRoute (part: DocumentPart, { isShared, targets }: RouteModel): Description {
  const { name, singular, one } = part.model
  const entry = isShared ? describeEach(part, targets, describeCommand) : describeCommand(part)
  return {
    name: isShared ? 'read-command' : `read-${singular}-commands`,
    tag: isShared ? 'commands' : `${name}: log`,
    summary: isShared ? 'Read a command' : `Read a command of ${one}`,
    description: 'The request and its outcome.',
    path: { command: describeCommandId(part) },
    response: { 200: describeAnswer(part, 'one', 'The command', entry) }
  }
}

const feedRule = 'In the order in which the commands became visible. Continue from links.follow later: nothing in ' +
  'between is missed. With Accept: text/event-stream the response continues as commands are made; Prefer: wait=20 ' +
  'holds an empty page.'

export function describeFeed (part: DocumentPart, { isShared, targets }: RouteModel): Description {
  const { name } = part.model
  const common = { description: feedRule, querystring: describeQuerystring(part, 'feed') }
  const order = 'in the order in which they became visible'
  if (isShared) {
    const page = describePage(part, describeEach(part, targets, describeLogEntry))
    return {
      ...common,
      name: 'follow-commands',
      tag: 'commands',
      summary: 'Read what happened to the items of all families',
      response: { 200: describeAnswer(part, 'page', `A page of commands of all families, ${order}`, page, 'link') }
    }
  }
  const page = part.name(`${toSchemaName(part)}EntryPage`, describePage(part, describeLogEntry(part)))
  return {
    ...common,
    name: `follow-${name}-commands`,
    tag: `${name}: log`,
    summary: `Read what happened to all ${name}`,
    response: { 200: describeAnswer(part, 'page', `A page of commands, ${order}`, page, 'link') }
  }
}

export function describeDeleted (part: DocumentPart): Description {
  const { name, singular } = part.model
  const page = part.name(`${toSchemaName(part)}EntryPage`, describePage(part, describeLogEntry(part)))
  return {
    name: `list-deleted-${name}`,
    tag: `${name}: log`,
    summary: `List the ${name} that are deleted now`,
    description: `The deletion of each, newest first. Its changes have the ${singular} as it was.`,
    querystring: describeQuerystring(part, 'log'),
    response: { 200: describeAnswer(part, 'page', 'A page of deletions', page, 'link') }
  }
}

/** Of the version that answers. */
export function describeQuery (declaring: DocumentPart, { query = '', targets: [owner] }: RouteModel): Description {
  const part = owner === undefined ? declaring : declaring.of(owner.mount)
  const { name, queries: { [query]: { field = '', value = {} } = {} } } = part.model
  return {
    name: `query-${query}`,
    tag: `${name}: other forms`,
    summary: `List ${name} by ${field}`,
    description: 'An array of items. 404 if there are none.',
    path: { parameter: value },
    querystring: describeQuerystring(part, 'bare'),
    response: {
      200: describeAnswer(part, 'page', `The ${name}`, { type: 'array', items: describeListedItem(part) })
    }
  }
}
