import { Type } from '@sinclair/typebox'
import { invalidQuery, Problem } from '../../core/problems.js'
import { listEqual } from '../../core/query/alternatives.js'
import type { ParsedQuery } from '../../core/query/grammar.js'
import { readOperand, readValue } from '../../core/query/values.js'
import type { Field, Id } from '../../core/storage/storage.js'
import { makePicker } from '../../core/values/json.js'
import { shorten } from '../../core/values/shorten.js'
import type { Mount } from '../mount.js'
import { describeAnswer } from '../openapi/answers.js'
import { describeListedItem } from '../openapi/items.js'
import { nameItem, nameSchema } from '../openapi/mark.js'
import { describeBarePaging, describeValue, listItems } from '../openapi/parameters.js'
import { describeProblems } from '../openapi/problems.js'
import { describeSharedRoute } from '../openapi/route.js'
import { affordRows } from '../pages/page-affordances.js'
import type { Endpoint } from '../routes.js'
import { hasLongItems, makeExpand } from './expand.js'
import { makePageLinks } from './listing.js'
import type { LoadedPage } from './page.js'
import { loadPage, sendPage } from './page.js'
import type { Loading, Read } from './read.js'
import { parsePageQuery, readHandler } from './read.js'

/** `GET /query/{result_name}/{parameter}` for every named query of the family: a list, 404 when it is empty. */
export function queryEndpoints (mount: Mount): Endpoint[] {
  const { family } = mount
  return [...family.queries].map(([name, query]) => {
    const field = family.fields.find(({ name }) => name === query.field) as Field
    return {
      method: 'GET',
      sharedBy: 'versions',
      path: `/query/${name}/:parameter`,
      schema: describeQuery(mount, name, field),
      handler: readHandler(queryRead(mount, field))
    }
  })
}

function queryRead (mount: Mount, field: Field): Read<ParsedQuery, LoadedPage> {
  const { family, grammar } = mount
  return {
    mount,
    kind: 'page',
    locate: request => ({ name: (request.params as { parameter: string }).parameter, isSuffixed: true }),
    intend (_request, name) {
      return { family: family.name, action: 'list', id: undefined, params: { [field.name]: name } }
    },
    parse (search, representation) {
      const parsed = parsePageQuery(grammar, search, representation)
      if (parsed.query.count) throw invalidQuery([{ parameter: 'count', detail: 'A list has no place for count' }])
      return parsed
    },
    load: loading => loadQuery(mount, field, loading),
    represent: sendPage,
    miss: (name, refusal) => explainNothing(mount, field, name, refusal)
  }
}

async function loadQuery (
  { family, grammar, urls }: Mount,
  field: Field,
  loading: Loading<ParsedQuery>
): Promise<LoadedPage | undefined> {
  const { caller, reader, name, query: parsed } = loading
  const read = readOperand(field, name)
  if ('expected' in read) return undefined
  const equal = listEqual(field.name, [read.value]).flat()
  const order = [{ field: 'id', descending: false }]
  // Whatever else is filtered, and whatever page is asked for: it is this list if there is anything in it.
  const { items: [one] } = await reader.find({ where: equal, order, offset: 0, limit: 1, count: false })
  if (one === undefined) return undefined
  const members = parsed.fields ?? family.members
  return await loadPage({
    name: family.name,
    singular: family.singular,
    members,
    emptyList: 'not-found',
    isBare: true,
    hasLongItems: hasLongItems(family, parsed.expand),
    expand: await makeExpand(family, caller, parsed.expand),
    find: query => reader.find({ ...query, where: [...equal, ...query.where] }),
    renewTime: () => { reader.renewTime() },
    show: makePicker(members),
    afford: (exchange, page) => affordRows(exchange, parsed, {
      grammar,
      fields: family.fields,
      columns: family.presentation.list,
      title: family.presentation.title,
      isCountable: false,
      links: makePageLinks(urls.self(exchange.request), parsed, page),
      trail: [{ kind: 'list', href: urls.collection(exchange.request), name: family.name }],
      address: index => urls.item(exchange.request, page.items[index]?.id as Id)
    })
  }, parsed, loading)
}

// A value that cannot be one of the field's is worth saying so; all else is just not there.
function explainNothing (
  { family }: Mount,
  field: Field,
  parameter: string,
  refusal: Problem | undefined
): Problem {
  const read = readValue(field, parameter)
  const isSuffixed = 'value' in readValue(field, parameter.replace(/\.[^.]*$/, ''))
  if (refusal !== undefined && 'expected' in read && isSuffixed) return refusal
  if (field.name !== 'id' && 'expected' in read && !isSuffixed) {
    return invalidQuery([{ parameter: field.name, detail: `${field.name} ${read.expected}` }])
  }
  return new Problem('empty-list', `There are no ${family.name} whose ${field.name} is "${shorten(parameter)}"`)
}

function describeQuery (mount: Mount, name: string, field: Field): Endpoint['schema'] {
  const { family } = mount
  return describeSharedRoute(mount, 'items', `query-${name}`, {
    summary: `List the ${family.name} by ${field.name}`,
    description: `The bare list, in pages; 404 when it is empty. Every filter of the ${family.name} holds here too.`,
    params: Type.Object({ parameter: { ...describeValue(field), description: `The ${field.name}` } }),
    querystring: describeBarePaging(mount, listItems(mount)),
    response: {
      200: describeAnswer(mount, 'page', {
        description: `The ${family.name}`,
        schema: nameSchema(mount, `${nameItem(mount)}List`, Type.Array(describeListedItem(mount))),
        headers: { link: 'The links to further parts of the list (RFC 8288)' }
      }),
      ...describeProblems(mount, 'invalid-query', 'empty-list', 'not-acceptable')
    }
  })
}
