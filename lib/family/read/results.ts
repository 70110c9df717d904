import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../problems.js'
import type { Endpoint } from '../../http/routes.js'
import type { Condition, Field, Stored } from '../../storage/storage.js'
import { readValue } from '../../query/values.js'
import { wishOf } from './send.js'
import { describeResult } from '../openapi/reads.js'
import type { Mount } from '../mount/mount.js'
import { withoutSuffix } from './links.js'
import { offerOfRows } from './offers.js'
import { pick, sendPage } from './pages.js'
import { readSuffixed, understand } from './understand.js'
import type { Unversioned } from '../mount/unversioned.js'
import { splitUrl } from '../mount/urls.js'

/** `GET /query/{result_name}/{parameter}` for every result of the family: a list, 404 when it is empty. */
export function resultEndpoints (mount: Mount, { results }: Unversioned): Endpoint[] {
  const { family } = mount
  const endpoints: Endpoint[] = []
  for (const [name, { field: fieldName }] of family.queries) {
    const field = family.fields.find(({ name }) => name === fieldName) as Field
    const schema = describeResult(mount, name, field)
    if (!results.claim(name, mount, async (request, reply) => await readResult(mount, field, request, reply), schema)) continue
    endpoints.push({
      method: 'GET',
      path: `/query/${name}/:parameter`,
      schema,
      before: reply => results.retire(name, reply),
      handler: async (request, reply) => await results.owner(name)(request, reply)
    })
  }
  return endpoints
}

async function readResult (mount: Mount, field: Field, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { family, urls } = mount
  const { parameter } = request.params as { parameter: string }
  const { where = [] } = await mount.authorize(request, { family: family.name, action: 'list', id: undefined, params: { [field.name]: parameter } })
  const storage = await mount.storage(request)
  const equal = (text: string): Condition | undefined => {
    const read = readValue(field, text)
    return 'value' in read ? { field: field.name, op: 'eq', values: [read.value] } : undefined
  }
  const { item: condition, suffix } = await readSuffixed(parameter, async text => {
    const condition = equal(text)
    const any = condition && await storage.find(family.name, { where: [condition, ...where], order: [{ field: 'id', descending: false }], offset: 0, limit: 1, count: false })
    return any !== undefined && any.items.length > 0 ? condition : undefined
  }) ?? {}
  if (condition === undefined) throw nothingFound(mount, field, parameter)

  const choice = mount.chooser.choose('page', wishOf(request, suffix))
  const reading = understand(mount.grammar, splitUrl(request).search, choice.representation)
  if (reading.query.count) throw new Problem('invalid-query', 'A list has no place for count', { errors: [{ parameter: 'count', detail: 'A list has no place for count' }] })
  const members = reading.fields ?? family.members
  const path = urls.self(request)
  return await sendPage(request, reply, choice, reading, {
    name: family.name,
    singular: family.singular,
    path,
    members,
    emptyList: 'not-found',
    bare: true,
    find: query => storage.find(family.name, { ...query, where: [condition, ...query.where, ...where] }),
    show: pick(members),
    offer: (items, hasNext) => offerOfRows({
      fields: family.fields,
      path: withoutSuffix(path, suffix),
      reading,
      hasNext,
      representations: mount.representations,
      up: { href: urls.collection(request), title: `All ${family.name}` },
      address: index => urls.item(request, (items[index] as Stored).id)
    })
  })
}

// A value that cannot be one of the field's is worth saying so; all else is just not there.
function nothingFound ({ family }: Mount, field: Field, parameter: string): Problem {
  const read = readValue(field, parameter)
  const isSuffixed = 'value' in readValue(field, parameter.replace(/\.[^.]*$/, ''))
  if (field.name !== 'id' && 'expected' in read && !isSuffixed) {
    return new Problem('invalid-query', `${field.name} ${read.expected}`, { errors: [{ parameter: field.name, detail: `${field.name} ${read.expected}` }] })
  }
  return new Problem('empty-list', `There are no ${family.name} whose ${field.name} is "${parameter}"`)
}
