import type { TProperties, TSchema } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { ActionModel, FamilyMount, Id, ItemPage, Members, RunOptions } from '../index.js'
import {
  errorCodes, explainError, invalidBody, makeValidator, Problem, readIdempotencyKey, Type
} from '../index.js'

export interface Tool {
  readonly mount: FamilyMount
  /** The name without that of the family. */
  readonly end: string
  /** The one that `authorize` is asked for. */
  readonly action: string
  readonly title: string
  readonly more?: string
  readonly schema: object
  readonly hints: object
  call (request: FastifyRequest, sent: Members): Promise<object>
}

/** By name, in the order in which they are listed. */
export function makeTools (mounts: readonly FamilyMount[], needsCommand: boolean): Map<string, Tool> {
  const tools = new Map<string, Tool>()
  for (const tool of mounts.flatMap(mount => [...listReadTools(mount), ...listWriteTools(mount, needsCommand)])) {
    const name = nameTool(tool)
    const flaw = name.length > 128 ? 'is too long' : tools.has(name) ? 'exists; rename the operation' : undefined
    if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_OPTION('mcp', `the tool "${name}" ${flaw}`)
    tools.set(name, tool)
  }
  return tools
}

function nameTool ({ mount: { model }, end }: Pick<Tool, 'mount' | 'end'>): string {
  return `${model.name}_${end}`
}

type Arguments = ReturnType<typeof compile>

/** The schema of arguments for clients, which may tell more than is checked here, and the check. */
function compile (checked: TProperties, shown = checked) {
  const validate = makeValidator(Type.Object(checked, { additionalProperties: false }))
  return { schema: Type.Object(shown, { additionalProperties: false }), validate }
}

function describeTarget ({ model: { id, singular } }: FamilyMount): TSchema {
  return Type.Unsafe({ ...id, description: `The id of the ${singular}` })
}

/** The name of an operation, unless a tool cannot have it. */
function nameEnd ({ kind, name, words: { verb = name } }: ActionModel): string {
  if (kind === 'remove') return 'delete'
  return /^[\w-]+$/.test(name) ? name : verb
}

function listReadTools (mount: FamilyMount): Tool[] {
  const find = makeFindTool(mount)
  const ofItem = compile({ id: describeTarget(mount) })
  const get = makeGetTool(mount)
  if (!mount.model.isWritable) return [find, get]
  const isDeletable = mount.model.actions.some(({ kind }) => kind === 'remove')
  return [find, get, makeOperationsTool(mount, ofItem), ...isDeletable ? [makeDeletedTool(mount)] : []]
}

const readHints = { readOnlyHint: true }

function makeFindTool (mount: FamilyMount): Tool {
  const { model: { name }, book } = mount
  const { schema, validate } = describeFind(mount)
  return {
    mount,
    end: 'find',
    action: 'list',
    title: `Find ${name}`,
    more: 'Returns items and, if there are more, next.',
    schema,
    hints: readHints,
    async call (request, sent) {
      const flaws = validate(sent)
      // A caller who is refused learns no fields.
      if (flaws.length > 0) await book(request).find('', { limit: 1 })
      refuseArguments(flaws)
      return showPage(await findForTool(mount, request, sent))
    }
  }
}

function makeGetTool (mount: FamilyMount): Tool {
  const past = Type.Partial(Type.Object({
    revision: Type.Integer({ minimum: 1, description: 'As it was after this change. Default: as it is' }),
    at: Type.String({ format: 'date-time', description: 'As it was at this time, instead of revision' })
  })).properties
  const { schema, validate } = compile({ id: describeTarget(mount), ...mount.model.isWritable && past })
  return {
    mount,
    end: 'get',
    action: 'read',
    title: `Read ${mount.model.one}`,
    schema,
    hints: readHints,
    async call (request, sent) {
      refuseArguments(validate(sent))
      const { id, ...when } = sent as { readonly id: Id, readonly revision?: number, readonly at?: string }
      return await mount.book(request).get(id, when)
    }
  }
}

function makeOperationsTool (mount: FamilyMount, { schema, validate }: Arguments): Tool {
  const { model: { one, actions }, book } = mount
  return {
    mount,
    end: 'operations',
    action: 'read',
    title: `List the operations of ${one}`,
    more: 'Those that you may use, whether the state allows each now, and why not.',
    schema,
    hints: readHints,
    async call (request, sent) {
      refuseArguments(validate(sent))
      const id = sent.id as Id
      // Its revision before the offers: a command with it is refused if the item changes in between.
      const { revision } = await book(request).get(id)
      const offers = await book(request).offers(id)
      const items = actions.flatMap(action => {
        const offer = offers.find(offer => offer.action === action.action)
        if (offer === undefined) return []
        const { allowed, reason } = offer
        const end = nameEnd(action)
        const name = action.kind === 'remove' ? end : action.name
        return [{ name, tool: nameTool({ mount, end }), allowed, ...reason !== undefined && { reason } }]
      })
      return { revision, items }
    }
  }
}

function makeDeletedTool (mount: FamilyMount): Tool {
  const { model: { name, singular }, maxPageSize, pageSize, book } = mount
  const { schema, validate } = compile(Type.Partial(Type.Object({
    limit: Type.Integer({ minimum: 1, description: `At most ${maxPageSize}. Default: ${pageSize}` }),
    after: Type.String({ description: 'next of the page before' })
  })).properties)
  return {
    mount,
    end: 'deleted',
    action: 'read',
    title: `List the ${name} that are deleted now`,
    more: `The deletion of each, newest first; its changes have the ${singular}.`,
    schema,
    hints: readHints,
    async call (request, sent) {
      refuseArguments(validate(sent))
      return showPage(await book(request).findDeleted(sent))
    }
  }
}

/** Names all flaws. */
function refuseArguments (flaws: Parameters<typeof invalidBody>[0]): void {
  if (flaws.length > 0) throw invalidBody(flaws)
}

const scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean()])
const anyFilter = Type.Optional(Type.Record(Type.String(), Type.Union([scalar, Type.Array(scalar)])))

/** Clients see the common filters with their types; the book checks them, and knows more. */
function describeFind ({ model, pageSize, maxPageSize }: FamilyMount) {
  const { order, stateNames, search, members, operators } = model
  const { or, ...filters } = model.filters as TProperties
  const state = Type.Unsafe<string>({ type: 'string', enum: stateNames })
  const suffixes = operators.map(operator => `.${operator}`).join(', ')
  const filter = Type.Partial(Type.Object({ ...stateNames.length > 0 && { state }, ...filters }), {
    description: `All must hold; of a list of values, one. Also FIELD with ${suffixes}; ` +
      'of filters that begin with "or.", one must hold'
  })
  const others = Type.Partial(Type.Object({
    ...search.length > 0 && { search: Type.String({ description: `Words, each in one of ${search.join(', ')}` }) },
    sort: Type.String({
      description: `Fields, descending after -, such as -${members.at(-1)},id. Default: ${order}`
    }),
    fields: Type.Array(Type.String(), { minItems: 1, description: 'Only these members of each item' }),
    limit: Type.Integer({ minimum: 1, description: `At most ${maxPageSize}. Default: ${pageSize}` }),
    after: Type.String({ description: 'next of the page before, with the same filter and sort' }),
    count: Type.Boolean({ description: 'Whether to return total' })
  })).properties
  return compile({ filter: anyFilter, ...others }, { filter: Type.Optional(filter), ...others })
}

// Parameters that are arguments beside the filter, or mean nothing here.
const notFilters = ['page', 'maxpagesize', 'sort', 'fields', 'count', 'format', 'after', 'before', 'expand', 'search']

async function findForTool (
  { model, book }: FamilyMount, request: FastifyRequest, sent: Members
): Promise<ItemPage<object>> {
  const { filter: asked = {}, fields, limit, search, ...others } = sent
  const filter = asked as Members
  const misplaced = Object.keys(filter).filter(name => notFilters.includes(name) && !model.filterNames.includes(name))
  if (misplaced.length > 0) await book(request).find('', { limit: 1 })
  refuseArguments(misplaced.map(name => ({ pointer: `/filter/${name}`, detail: 'is not a filter' })))
  const point = (name: string): string => `${Object.hasOwn(filter, name) ? '/filter' : ''}/${escapeName(name)}`
  // A filter may have the name of an argument.
  const parameters = [...Object.entries(filter), ...Object.entries({ fields: fields && String(fields), search })]
    .flatMap(([name, given]) => given === undefined ? [] : [given].flat().map(value => [name, String(value)]))
  try {
    const query = parameters.map(pair => pair.map(encodeURIComponent).join('=')).join('&')
    return await book(request).find(query, { limit, ...others } as object)
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'invalid-query') throw error
    const errors = (error.errors ?? []).map(flaw => 'pointer' in flaw
      ? flaw
      : { pointer: point(flaw.parameter), detail: flaw.detail })
    throw new Problem('invalid-query', error.message, { errors })
  }
}

function escapeName (name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

function showPage ({ items, total, next }: ItemPage<object>): object {
  return { items, ...total !== undefined && { total }, ...next !== undefined && { next } }
}

function listWriteTools (mount: FamilyMount, needsCommand: boolean): Tool[] {
  const { actions } = mount.model
  return actions.map(action => makeWriteTool(mount, action, needsCommand))
}

function explainMore ({ kind, final, isConditional }: ActionModel): string {
  if (kind === 'remove') return 'Its log is kept.'
  if (kind === 'restore') return 'As it was, from its log. Does nothing if it exists.'
  const more = [final && 'It cannot be undone.', isConditional && 'Refused if the state does not allow it.']
  return more.filter(Boolean).join(' ')
}

/** Its arguments are the parameters, the item and its revision, unless it is created, and the id of the command. */
function makeWriteTool (mount: FamilyMount, action: ActionModel, needsCommand: boolean): Tool {
  const { model, needsRevision, book } = mount
  const { kind, name, danger, final, isPartial, summary: title } = action
  const { properties, required = [] } = action.params as { properties: TProperties, required?: string[] }
  // A parameter may have the same name.
  const nameFreely = (name: string): string => Object.hasOwn(properties, name) ? nameFreely(`_${name}`) : name
  const [revision, command] = [nameFreely('revision'), nameFreely('command')]
  const known = Type.Integer({ description: `Refused if the ${model.singular} is not at this revision` })
  const chosen = Type.Unsafe<string>({
    ...model.command,
    description: 'An id that you choose for this call: with the same id, a repeated call changes nothing'
  })
  const isNew = kind === 'create'
  const own = {
    ...!isNew && { id: describeTarget(mount) },
    ...!isNew && { [revision]: needsRevision ? known : Type.Optional(known) },
    [command]: needsCommand ? chosen : Type.Optional(chosen)
  }
  const params = Object.fromEntries(Object.entries(properties).map(([name, schema]) =>
    [name, required.includes(name) ? Type.Unsafe(schema) : Type.Optional(Type.Unsafe(schema))]))
  const unchecked = Object.fromEntries(Object.keys(properties).map(name => [name, Type.Optional(Type.Unknown())]))
  const { schema, validate } = compile({ ...own, ...unchecked }, { ...own, ...params })
  // These only set values.
  const isRepeatable = isPartial || ['remove', 'restore', 'revert'].includes(kind) ||
    (isNew && Object.hasOwn(properties, 'id'))
  const isDestructive = danger || final || kind === 'remove'
  const hints = { destructiveHint: isDestructive, idempotentHint: isRepeatable || needsCommand }
  return {
    mount,
    end: nameEnd(action),
    action: action.action,
    title,
    more: explainMore(action),
    schema,
    hints,
    async call (request, sent) {
      const key = readIdempotencyKey(request.headers)
      const given = Object.fromEntries(Object.entries(sent).filter(([name]) => Object.hasOwn(properties, name)))
      refuseArguments([...validate(sent), ...mount.findFlaws(action.action, given)])
      const id = sent[command] as string | undefined
      // The header of a client that retries by itself; an id counts.
      const options: RunOptions = id === undefined ? { ...key !== undefined && { key } } : { command: id }
      const ours = book(request)
      const known = sent[revision] as number | undefined
      const running = { ...options, ...known !== undefined && { revision: known } }
      try {
        if (isNew) return await ours.create(given, options)
        if (kind === 'remove') return await ours.remove(sent.id as Id, running)
        return await ours.run(name, sent.id as Id, given, running)
      } catch (error) {
        if (!(error instanceof Problem) || !error.replayed) throw error
        throw adviseNewId(error, id === undefined ? 'key' : 'command id')
      }
    }
  }
}

// A refusal is replayed too, although the state may allow the operation by now.
function adviseNewId ({ code, message, statusCode: status, errors = [], members }: Problem, used: string): Problem {
  const detail = `${message}. It was refused before under this ${used}; to try again, choose a new one`
  return new Problem(code, detail, { status, errors, members: { ...members, replayed: true } })
}

const narrowedTools = new WeakMap<FamilyMount, readonly Tool[]>()

/** The tools of a mount whose family the caller does not see whole. */
function narrowTools (mount: FamilyMount, needsCommand: boolean): readonly Tool[] {
  const known = narrowedTools.get(mount) ?? [...makeTools([mount], needsCommand).values()]
  narrowedTools.set(mount, known)
  return known
}

/** Those that the caller may use: asked tentatively, as for a page. Throws if it should sign in first. */
export async function listTools (
  tools: Iterable<Tool>, request: FastifyRequest, needsCommand: boolean
): Promise<object[]> {
  const all = [...tools]
  const mounts = [...new Set(all.map(({ mount }) => mount))]
  const asked = await Promise.allSettled(mounts.map(async mount => {
    const { offers, mount: seen } = await mount.seenBy(request)
    const own = seen === mount ? all.filter(tool => tool.mount === mount) : narrowTools(seen, needsCommand)
    return own.filter(({ action }) => offers.some(offer => offer.action === action))
  }))
  const refusals = asked.flatMap(each => each.status === 'rejected' ? [each.reason as RefusedCall] : [])
  const granted = asked.flatMap(each => each.status === 'fulfilled' ? each.value : [])
  const challenge = granted.length === 0 ? refusals.find(asksClient) : undefined
  const reason = refusals.find(refusal => readStatus(refusal) >= 500) ?? challenge
  if (reason !== undefined) throw reason
  return granted.map(tool => {
    const { title, more = '', schema: inputSchema, hints } = tool
    const annotations = { title, ...hints, openWorldHint: false }
    return { name: nameTool(tool), title, description: `${title}. ${more}`.trim(), inputSchema, annotations }
  })
}

/** A problem, or an error of the host. */
interface RefusedCall { readonly status?: number, readonly statusCode?: number, readonly headers?: object }

function readStatus ({ status = 500, statusCode = status }: RefusedCall): number {
  return statusCode
}

/** Whether the client has to act, not the model: to sign in, or to ask for a scope. */
function asksClient (refusal: RefusedCall): boolean {
  const { headers = {} } = refusal
  return readStatus(refusal) === 401 || Object.keys(headers).some(name => name.toLowerCase() === 'www-authenticate')
}

/** A refusal is a result too, so that the model reads it. */
export async function callTool ({ call }: Tool, request: FastifyRequest, sent: Members): Promise<Members> {
  try {
    const result = await call(request, sent)
    return { content: [{ type: 'text', text: JSON.stringify(result) }], structuredContent: result }
  } catch (error) {
    const problem = explainError(error, request)
    if (asksClient(problem)) throw problem
    const text = explainProblem(problem)
    return { content: [{ type: 'text', text }], structuredContent: problem.document(), isError: true }
  }
}

function explainProblem (problem: Problem): string {
  const { title, errors = [], allowed } = problem.document() as { title: string, errors?: Members[], allowed?: unknown }
  const flaws = errors.map(({ pointer, parameter = pointer, detail }) => `- ${String(parameter)}: ${String(detail)}`)
  const others = Array.isArray(allowed) ? [`Allowed now: ${allowed.join(', ') || 'nothing'}`] : []
  // For these, the detail repeats the first flaw.
  const isOfArguments = flaws.length > 0 && ['invalid-body', 'invalid-query'].includes(problem.code)
  return [isOfArguments ? 'The arguments are invalid:' : `${title}: ${problem.message}`, ...flaws, ...others].join('\n')
}
