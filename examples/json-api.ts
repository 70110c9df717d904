// Another front end for the same families, JSON:API (https://jsonapi.org), made of findMounts: what a caller may see
// and do, retries, limits and problems are those of the mounts. node build/examples/json-api.js
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import {
  type ActionModel, type Book, explainError, type FamilyMount, findMounts, type Id, invalidBody, makeValidator,
  type Members, prepareFront, Problem, readIdempotencyKey, type Static, Type
} from 'fastify-dealbook'
import { buildApp as buildRental } from './rental.js'

const mediaType = 'application/vnd.api+json'
// Members of an item that are not attributes.
const besides = ['id', 'revision', 'createdAt', 'updatedAt']

// What a client sends around the fields and parameters, which the book checks.
const meta = Type.Optional(Type.Object({ revision: Type.Optional(Type.Integer()) }))
const identifier = Type.Object({ type: Type.String(), id: Type.String() })
const related = Type.Record(Type.String(), Type.Object({ data: Type.Union([identifier, Type.Null()]) }))
const attributes = Type.Record(Type.String(), Type.Unknown())
const resource = Type.Partial(Type.Object({ attributes, relationships: related, meta }))
const findFlaws = makeValidator(Type.Object({ data: resource }))
const findFlawsInAction = makeValidator(Type.Object({ meta }))

export const jsonApi: FastifyPluginAsync = async app => {
  const mounts = new Map<string, FamilyMount>()
  app.addHook('onReady', async () => {
    // Only now are all families known. Of several versions, the one that has the paths without a version.
    for (const mount of findMounts(app)) if (mount.isDefault) mounts.set(mount.model.name, mount)
  })
  prepareFront(app, { types: [mediaType] })
  app.setErrorHandler(sendErrors)

  interface Route { Params: { type: string, id: string, member: string } }

  app.get<Route>('/:type', async (request, reply) => {
    const mount = find(request)
    const query = readQuery(mount, request)
    const page = await mount.book(request).find(query.text, query.options as object)
    const items = page.items as readonly Members[]
    return send(reply, {
      data: items.map(item => show(mount, item)),
      ...query.include.length > 0 && { included: include(mount, items, query.include) },
      links: { self: request.url, ...page.next && { next: `${linkOf(mount)}?${query.write(page.next)}` } },
      ...page.total !== undefined && { meta: { total: page.total } }
    })
  })

  app.get<Route>('/:type/:id', async (request, reply) => {
    const mount = find(request)
    const id = readId(mount, request)
    const { include: fields } = readQuery(mount, request)
    const book = mount.book(request)
    const item: Members = await book.get(id, { expand: fields })
    return send(reply, {
      data: show(mount, item, { operations: await book.offers(id) }),
      ...fields.length > 0 && { included: include(mount, [item], fields) }
    })
  })

  // What is related to an item, or only its type and id.
  for (const path of ['', 'relationships/']) {
    app.get<Route>(`/:type/:id/${path}:member`, async (request, reply) => {
      const mount = find(request)
      const { member } = request.params
      const item: Members = await mount.book(request).get(readId(mount, request))
      const there = mounts.get(mount.model.references[member] ?? '')
      if (there === undefined) throw new Problem('not-found', `There is no relationship "${member}"`)
      const id = idOf(item[member])
      if (id === null) return send(reply, { data: null })
      if (path !== '') return send(reply, { data: { type: there.model.name, id: String(id) } })
      return send(reply, { data: show(there, await there.book(request).get(id)) })
    })
  }

  app.post<Route>('/:type', async (request, reply) => {
    const mount = find(request, 'create')
    const { fields } = readResource(mount, request)
    const done = await run(mount, request, (book, options) => book.create(fields, options))
    return answer(reply.code(done.replayed ? 200 : 201), mount, done)
  })
  app.patch<Route>('/:type/:id', async (request, reply) => {
    const mount = find(request, 'edit')
    const { fields, revision } = readResource(mount, request)
    return answer(reply, mount, await run(mount, request, (book, options) =>
      book.run('edit', readId(mount, request), fields, { ...options, ...revision })))
  })
  app.delete<Route>('/:type/:id', async (request, reply) => {
    const mount = find(request, 'remove')
    await run(mount, request, (book, options) => book.remove(readId(mount, request), options))
    return await reply.code(204).send()
  })
  // JSON:API has no operations, so that they are links of our own.
  app.post<Route>('/:type/:id/actions/:member', async (request, reply) => {
    const { member } = request.params
    const mount = find(request, 'operation', member)
    const body = request.body ?? {}
    refuse(findFlawsInAction(body))
    const { meta: { revision: known, ...params } = {} } = body as { readonly meta?: Members }
    const revision = known === undefined ? {} : { revision: known as number }
    return answer(reply, mount, await run(mount, request, (book, options) =>
      book.run(member, readId(mount, request), params, { ...options, ...revision })))
  })

  /** @param kind of the action that the family must have */
  function find ({ params: { type } }: FastifyRequest<Route>, kind?: ActionModel['kind'], name?: string): FamilyMount {
    const mount = mounts.get(type)
    const isKnown = kind === undefined || mount?.model.actions.some(action =>
      action.kind === kind && (name === undefined || action.name === name))
    if (mount !== undefined && isKnown === true) return mount
    throw new Problem('not-found', `There is no type "${type}"${kind === undefined ? '' : ` with "${name ?? kind}"`}`)
  }

  function linkOf (mount: FamilyMount, ...parts: readonly unknown[]): string {
    return [app.prefix, mount.model.name, ...parts.map(part => encodeURIComponent(String(part)))].join('/')
  }

  function show (mount: FamilyMount, item: Members, meta: Members = {}) {
    const { model: { name: type, references } } = mount
    const self = linkOf(mount, item.id)
    const relationships = Object.entries(references).filter(([field]) => field in item).map(([field, other]) => {
      const id = idOf(item[field])
      const links = { self: `${self}/relationships/${field}`, related: `${self}/${field}` }
      return [field, { data: id === null ? null : { type: other, id: String(id) }, links }]
    })
    const isAttribute = (name: string): boolean => !besides.includes(name) && !Object.hasOwn(references, name)
    return {
      type,
      id: String(item.id),
      attributes: Object.fromEntries(Object.entries(item).filter(([name]) => isAttribute(name))),
      ...relationships.length > 0 && { relationships: Object.fromEntries(relationships) },
      links: { self },
      meta: { revision: item.revision, createdAt: item.createdAt, updatedAt: item.updatedAt, ...meta }
    }
  }

  /** Items that were expanded, each once. Those that the caller may not read are only ids, and left out. */
  function include ({ model }: FamilyMount, items: readonly Members[], fields: readonly string[]) {
    const all = fields.flatMap(field => items.map(item => {
      const there = mounts.get(model.references[field] as string)
      return there !== undefined && isItem(item[field]) ? [show(there, item[field])] : []
    })).flat()
    return [...new Map(all.map(each => [`${each.type} ${each.id}`, each])).values()]
  }

  /** The fields of a resource; `meta.revision` is the one that the client knows. */
  function readResource ({ model: { references } }: FamilyMount, { body }: FastifyRequest) {
    refuse(findFlaws(body))
    const { data } = body as { data: Static<typeof resource> }
    const { attributes, relationships = {}, meta: { revision } = {} } = data
    const related = Object.entries(relationships).map(([name, { data }]) =>
      [name, data === null ? null : mounts.get(references[name] ?? '')?.readId(data.id) ?? data.id])
    const fields: Members = { ...attributes, ...Object.fromEntries(related) as Members }
    return { fields, revision: revision === undefined ? {} : { revision } }
  }

  function answer (reply: FastifyReply, mount: FamilyMount, { item, command }: Done): FastifyReply {
    if (item === undefined) return reply.code(204).send()
    return send(reply.header('location', linkOf(mount, item.id)), { data: show(mount, item), meta: { command } })
  }
}

interface Done { readonly item: Members | undefined, readonly command: Members, readonly replayed: boolean }

/** A retry with the same Idempotency-Key gets the first outcome. */
async function run (
  mount: FamilyMount, request: FastifyRequest, work: (book: Book, options: { key?: string }) => Promise<unknown>
): Promise<Done> {
  const key = readIdempotencyKey(request.headers)
  return await work(mount.book(request), key === undefined ? {} : { key }) as Done
}

function readId ({ readId, model: { singular } }: FamilyMount, { params }: FastifyRequest): Id {
  const { id } = params as { id: string }
  const read = readId(id)
  if (read === undefined) throw new Problem('not-found', `There is no ${singular} "${id}"`)
  return read
}

/** `filter[price.gte]=5&page[size]=20&sort=-price&include=customer&fields[deals]=name`, as the query of a list. */
function readQuery ({ model }: FamilyMount, { query }: FastifyRequest) {
  const given = Object.entries(query as Record<string, string | string[]>)
    .flatMap(([name, value]) => [value].flat().map(each => [name, each] as const))
  const include: string[] = []
  const options: Record<string, unknown> = {}
  const text: (readonly [string, string])[] = []
  for (const [name, value] of given) {
    const [, group = name, member = ''] = /^(\w+)\[([^\]]*)\]$/.exec(name) ?? []
    if (group === 'filter' && isFilter(model, member)) text.push([member, value])
    else if (group === 'page' && member === 'size') options.limit = value
    else if (group === 'page' && member === 'after') options.after = value
    else if (group === 'page' && member === 'total') options.count = value === 'true'
    else if (group === 'fields' && member === model.name) text.push(['fields', `id,revision,${value}`])
    else if (name === 'sort') options.sort = value
    else if (name === 'include') include.push(...value.split(',').filter(field => field !== ''))
    else throw new Problem('invalid-query', 'Unknown', { errors: [{ parameter: name, detail: 'is unknown' }] })
  }
  if (include.length > 0) text.push(['expand', include.join()])
  const others = given.filter(([name]) => name !== 'page[after]')
  const write = (after: string) => [...others, ['page[after]', after] as const].map(writePair).join('&')
  return { text: text.map(writePair).join('&'), options, include, write }
}

function isFilter ({ filterNames }: FamilyMount['model'], name: string): boolean {
  return filterNames.includes(name) || ['state', 'search'].includes(name) || /^or\d*\./.test(name)
}

function refuse (flaws: ReturnType<typeof findFlaws>): void {
  if (flaws.length > 0) throw invalidBody(flaws)
}

function writePair ([name, value]: readonly [string, string]): string {
  return `${encodeURIComponent(name)}=${encodeURIComponent(value)}`
}

function isItem (value: unknown): value is Members {
  return typeof value === 'object' && value !== null
}

/** Of a reference, which may be expanded. */
function idOf (value: unknown): Id | null {
  return isItem(value) ? value.id as Id : (value ?? null) as Id | null
}

function send (reply: FastifyReply, document: object): FastifyReply {
  const text = JSON.stringify({ jsonapi: { version: '1.1' }, ...document })
  // To a text, Fastify would add a charset, which JSON:API forbids.
  return reply.header('content-type', mediaType).send(Buffer.from(text))
}

function sendErrors (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const problem = explainError(error, request)
  const { title, detail, errors = [] } = problem.document() as { title: string, detail: string, errors?: Members[] }
  const about = { status: String(problem.statusCode), code: problem.code, title }
  const all = errors.length === 0
    ? [{ ...about, detail, meta: problem.members }]
    : errors.map(({ detail, ...source }) => ({ ...about, detail, source }))
  return send(reply.code(problem.statusCode).headers(problem.headers), { errors: all })
}

export function buildApp (...options: Parameters<typeof buildRental>): FastifyInstance {
  const app = buildRental(...options)
  app.register(jsonApi, { prefix: '/api' })
  return app
}

if (import.meta.filename === process.argv[1]) {
  const { PORT = '3000' } = process.env
  const url = await buildApp().listen({ port: Number(PORT) })
  console.log(`${url}/api/machines, with "authorization: Bearer ann-secret"`)
}
