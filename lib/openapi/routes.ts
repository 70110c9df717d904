import type { JsonSchema, RouteModel } from '../exports.js'
import { describeRefusals, shortenAnswers } from './answers.js'
import { describeRequestHeaders, type Description } from './description.js'
import type { DocumentPart } from './document-part.js'
import {
  describeDeleted, describeEntryRoute, describeFeed, describeHomeRoute, describeItemRoute, describeList, describeLog,
  describeOperations, describeQuery
} from './reads.js'
import { describeItemId, objectOf, textSchema } from './schemas.js'
import {
  describeActionRoute, describeCommandRoute, describeCommands, describeCreation, describeDeletion, describeOperation,
  describeUpdate
} from './writes.js'

type Describe = (part: DocumentPart, route: RouteModel) => Description

const describers: Readonly<Record<RouteModel['kind'], Describe>> = {
  home: describeHomeRoute,
  list: describeList,
  item: describeItemRoute,
  operations: describeOperations,
  log: describeLog,
  entry: describeEntryRoute,
  feed: describeFeed,
  deleted: describeDeleted,
  query: describeQuery,
  create: describeCreation,
  remove: describeDeletion,
  operation: describeOperation,
  update: describeUpdate,
  command: describeCommandRoute,
  commands: describeCommands,
  action: describeActionRoute
}

/** What the schema of a route says. The id of the operation is unique over all mounts of an application. */
export function describeRoute (part: DocumentPart, route: RouteModel): object {
  const { mount: { prefix, version = '' } } = part
  const { kind, isShared, path: url } = route
  const { name, path, ...schema } = shortenDescription(part, route, describers[kind](part, route))
  const params = { ...readParameters(prefix), ...url.includes('/:id') && { id: describeItemId(part) }, ...path }
  const { tag, ...others } = schema
  return {
    operationId: makeOperationId(name, isShared || kind === 'query' ? prefix : `${prefix}/${version}`),
    tags: [tag],
    ...others,
    ...isDeprecated(route) && { deprecated: true },
    ...Object.keys(params).length > 0 && { params: objectOf(params) }
  }
}

/** With the whole place, as in listDeals_crm_v1. Characters not allowed in names become their codes, a colon none. */
function makeOperationId (name: string, place: string): string {
  const words = place.split('/').filter(word => word !== '').map(word => word.replace(/[^A-Za-z0-9]/gu, character =>
    character === ':' ? '__' : `__${character.codePointAt(0)?.toString(16)}`))
  return [name.replace(/-+(.)/g, (_, letter: string) => letter.toUpperCase()), ...words].join('_')
}

/** Those of a prefix, such as /:tenant. */
function readParameters (prefix: string): Record<string, JsonSchema> {
  return Object.fromEntries(Array.from(prefix.matchAll(/(?<!:):(\w+)/g), ([, name = '']) =>
    [name, textSchema(`The ${name} in the path`)]))
}

/** A path of several families is so if all that it leads to are, and then only that of actions says so. */
function isDeprecated ({ kind, isShared, targets }: RouteModel): boolean {
  return (!isShared || kind === 'action') && targets.every(({ mount: { options } }) => {
    const { deprecation, sunset }: DocumentPart['options'] = options
    return deprecation !== undefined || sunset !== undefined
  })
}

const briefReads: readonly RouteModel['kind'][] = ['operations', 'log', 'entry', 'feed', 'deleted', 'query']

/**
 * The recommended form is described in full, the others apart from it and without what is the same there. So are reads
 * besides those of items.
 */
function shortenDescription (
  part: DocumentPart, { kind, isShared, forms }: RouteModel, full: Description
): Description {
  const { headers, ...short } = full
  if (briefReads.includes(kind)) {
    return { ...short, response: { ...shortenAnswers(full.response), ...describeRefusals(part) } }
  }
  if (forms.length === 0 || part.isRecommended(forms[0])) return full
  const hasKey = headers?.properties?.['idempotency-key'] !== undefined
  return {
    ...short,
    summary: `${full.summary} (form${forms.length > 1 ? 's' : ''} ${forms.join(' and ')})`,
    ...!isShared && { tag: `${part.model.name}: other forms` },
    ...hasKey && { headers: describeRequestHeaders('idempotency-key') },
    response: shortenAnswers(full.response)
  }
}
