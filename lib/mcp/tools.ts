import { type TProperties, type TSchema, Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { findTargets } from '../core/book/offers.js'
import { errorCodes } from '../core/errors.js'
import type { Params } from '../core/family/params.js'
import { invalidBody, invalidQuery, notFound, preconditionFailed, Problem } from '../core/problems.js'
import { writeCursor, writeOrder } from '../core/query/cursor.js'
import type { ParsedQuery } from '../core/query/grammar.js'
import { type Grant, intendToList, intendToRead } from '../core/service/caller.js'
import { execute } from '../core/service/execute.js'
import { authorizeReader, findPage, mayRead } from '../core/service/reader.js'
import { showCommand } from '../core/service/record.js'
import type { Id } from '../core/storage/storage.js'
import { textIdPattern } from '../core/values/ids.js'
import { escapePointer, makePicker, type MemberFlaw, type Members } from '../core/values/json.js'
import { makeValidator } from '../core/values/validate.js'
import { addArticle } from '../core/values/words.js'
import { logOutcome } from '../http/forms/write.js'
import type { Mount } from '../http/mount.js'
import { describeFilters } from '../http/openapi/routes.js'
import { acceptNumbers } from '../http/openapi/schemas.js'
import { findBounded } from '../http/reads/page.js'
import { logFailure, toProblem } from '../http/reply.js'
import { readIdempotencyKey } from '../http/request.js'
import { explainEnd, hasEnded } from '../http/routes.js'

export interface Tool {
  readonly mount: Mount
  /** The name without that of the family. */
  readonly end: string
  /** The one that `authorize` is asked for. */
  readonly action: string
  readonly title: string
  readonly more?: string
  readonly schema: object
  readonly hints: object
  call (request: FastifyRequest, sent: Members): Promise<Members>
}

/** By name, in the order in which they are listed. */
export function makeTools (mounts: readonly Mount[], needsCommand: boolean): Map<string, Tool> {
  const tools = new Map<string, Tool>()
  for (const tool of mounts.flatMap(mount => [...listReadTools(mount), ...listWriteTools(mount, needsCommand)])) {
    const name = nameTool(tool)
    const flaw = name.length > 128 ? 'is too long' : tools.has(name) ? 'exists; rename the operation' : undefined
    if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_OPTION('mcp', `the tool "${name}" ${flaw}`)
    tools.set(name, tool)
  }
  return tools
}

function nameTool ({ mount: { family: { name } }, end }: Pick<Tool, 'mount' | 'end'>): string {
  return `${name}_${end}`
}

/** The schema of arguments for clients, which may tell more than is checked here, and the check. */
function compile (checked: TProperties, shown = checked) {
  const validate = makeValidator(Type.Object(checked, { additionalProperties: false }))
  return {
    schema: Type.Object(shown, { additionalProperties: false }),
    /** Throws a problem that names all flaws. */
    check (sent: Members, others: readonly MemberFlaw[] = []): void {
      const flaws = [...validate(sent), ...others]
      if (flaws.length > 0) throw invalidBody(flaws)
    }
  }
}

function describeId ({ family: { idSchema, singular } }: Mount): TSchema {
  return { ...idSchema, description: `The id of the ${singular}` }
}

/** The name of an operation, unless a tool cannot have it. */
function nameEnd ({ name, verb = name }: { readonly name: string, readonly verb?: string }): string {
  return /^[\w-]+$/.test(name) ? name : verb
}

function listReadTools (mount: Mount): Tool[] {
  const { family, family: { name, singular, members } } = mount
  const hints = { readOnlyHint: true }
  const pick = makePicker(members)
  const search = describeFind(mount)
  const find: Tool = {
    mount,
    end: 'find',
    action: 'list',
    title: `Find ${name}`,
    more: 'Returns items and, if there are more, next.',
    schema: search.schema,
    hints,
    async call (request, sent) {
      // Before the arguments are checked: a caller who is refused learns no fields.
      const reader = await authorizeReader(family, mount.caller(request), intendToList(family))
      search.check(sent)
      const parsed = parseFind(mount, sent)
      const query = (parsed: ParsedQuery) => findPage(query => reader.find(query), parsed)
      const page = await findBounded(query, parsed, family.hasLongItems)
      return {
        items: page.items.map(parsed.fields === undefined ? pick : makePicker(parsed.fields)),
        ...page.total !== undefined && { total: page.total },
        ...page.next && { next: writeCursor(parsed.list, page.next) }
      }
    }
  }
  const { schema, check } = compile({ id: describeId(mount) })
  const load = async (request: FastifyRequest, sent: Members) => {
    check(sent)
    const id = requireId(mount, sent.id as Id)
    const reader = await authorizeReader(family, mount.caller(request), intendToRead(family, id))
    const item = await reader.get(id)
    if (item === undefined) throw notFound(singular, id)
    return { item, reader }
  }
  const get: Tool = {
    mount,
    end: 'get',
    action: 'read',
    title: `Read ${addArticle(singular)}`,
    schema,
    hints,
    call: async (request, sent) => pick((await load(request, sent)).item)
  }
  if (!family.writable) return [find, get]
  const operations: Tool = {
    mount,
    end: 'operations',
    action: 'read',
    title: `List the operations of ${addArticle(singular)}`,
    more: 'Those that you may use, whether the state allows each now, and why not.',
    schema,
    hints,
    async call (request, sent) {
      const { item, reader } = await load(request, sent)
      const offers = await findTargets(reader.called, reader.grant, item)
      return {
        revision: item.revision,
        items: offers.map(({ operation, reason }) => ({
          name: operation.name,
          tool: nameTool({ mount, end: nameEnd(operation) }),
          allowed: reason === undefined,
          ...reason !== undefined && { reason }
        }))
      }
    }
  }
  return [find, get, operations]
}

const scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean()])
const anyFilter = Type.Optional(Type.Record(Type.String(), Type.Union([scalar, Type.Array(scalar)])))

/** Clients see the common filters with their types; the grammar checks them, and knows more. */
function describeFind ({ family, grammar }: Mount) {
  const { limits: { pageSize, maxPageSize }, order, states, search } = grammar
  const { or, ...filters } = describeFilters(grammar)
  const state = Type.Unsafe<string>({ type: 'string', enum: states })
  const filter = Type.Partial(Type.Object({ ...states.length > 0 && { state }, ...filters }), {
    description: 'All must hold; of a list of values, one. Also FIELD.ne, .gt, .gte, .lt, .lte, .has, .regex and ' +
      '.null; of filters that begin with "or.", one must hold'
  })
  const others = Type.Partial(Type.Object({
    ...search.length > 0 && { search: Type.String({ description: `Words, each in one of ${search.join(', ')}` }) },
    sort: Type.String({
      description: `Fields, descending after -, such as -${family.members.at(-1)},id. Default: ${writeOrder(order)}`
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

function parseFind ({ grammar }: Mount, { filter: sent = {}, fields, limit, count, ...others }: Members): ParsedQuery {
  const filter = sent as Members
  const misplaced = Object.keys(filter).filter(name => notFilters.includes(name) && !grammar.filters.has(name))
  if (misplaced.length > 0) {
    throw invalidBody(misplaced.map(name => ({ pointer: `/filter/${name}`, detail: 'is not a filter' })))
  }
  const exact = count === true ? 'exact' : undefined
  const settings = { ...others, fields: fields && String(fields), maxpagesize: limit, count: exact }
  const parameters = [...Object.entries(filter), ...Object.entries(settings)].flatMap(([name, given]) =>
    given === undefined ? [] : [given].flat().map(value => [name, String(value)].map(encodeURIComponent).join('=')))
  const parsed = grammar.parse(parameters.join('&'))
  if (!('flaws' in parsed)) return parsed
  const errors = parsed.flaws.map(({ parameter, detail }) =>
    ({ pointer: `${Object.hasOwn(filter, parameter) ? '/filter' : ''}/${escapePointer(parameter)}`, detail }))
  throw new Problem('invalid-query', invalidQuery(parsed.flaws).message, { errors })
}

function listWriteTools (mount: Mount, needsCommand: boolean): Tool[] {
  const { operations, lifecycle, singular } = mount.family
  const one = addArticle(singular)
  const make = (tool: Writing): Tool => makeWriteTool(mount, tool, needsCommand)
  const tools = [...operations.values()].map(({ operation, params }) => {
    const { action, allowed, danger = false, final = false, summary: title = `${operation.name} ${one}` } = operation
    const more = [final && 'It cannot be undone.', allowed && 'Refused if the state does not allow it.']
    return make({
      end: nameEnd(operation),
      action,
      params,
      title,
      more: more.filter(Boolean).join(' '),
      isDestructive: danger || final,
      // An edit only sets values.
      isRepeatable: params.isPartial
    })
  })
  if (lifecycle === undefined) return tools
  const { createAction: action, params, takesId: isRepeatable, deletion } = lifecycle
  tools.unshift(make({ end: 'create', action, params, title: `Create ${one}`, isDestructive: false, isRepeatable }))
  if (deletion === undefined) return tools
  const { operation, params: none } = deletion
  const about = { title: `Delete ${one}`, more: 'Its log is kept.', isDestructive: true, isRepeatable: true }
  return [...tools, make({ end: 'delete', action: operation.action, params: none, ...about })]
}

interface Writing extends Pick<Tool, 'end' | 'action' | 'title' | 'more'> {
  readonly params: Params
  readonly isDestructive: boolean
  /** Whether a repeated call changes nothing even without a command id. */
  readonly isRepeatable: boolean
}

/** Its arguments are the parameters, the item and its revision, unless it is created, and the id of the command. */
function makeWriteTool (
  mount: Mount, { params, isDestructive, isRepeatable, ...about }: Writing, needsCommand: boolean
): Tool {
  const { family } = mount
  const { action } = about
  const { properties } = acceptNumbers(params.schema)
  // A parameter may have the same name.
  const nameFreely = (name: string): string => Object.hasOwn(properties, name) ? nameFreely(`_${name}`) : name
  const [revision, command] = [nameFreely('revision'), nameFreely('command')]
  const known = Type.Integer({ description: `Refused if the ${family.singular} is not at this revision` })
  const chosen = Type.String({
    pattern: textIdPattern,
    description: 'An id that you choose for this call: with the same id, a repeated call changes nothing'
  })
  const isNew = action === family.lifecycle?.createAction
  const own = {
    ...!isNew && { id: describeId(mount) },
    ...!isNew && { [revision]: mount.preconditions === 'required' ? known : Type.Optional(known) },
    [command]: needsCommand ? chosen : Type.Optional(chosen)
  }
  const unchecked = Object.fromEntries(Object.keys(properties).map(name => [name, Type.Optional(Type.Unknown())]))
  const { schema, check } = compile({ ...own, ...unchecked }, { ...own, ...properties })
  const hints = { destructiveHint: isDestructive, idempotentHint: isRepeatable || needsCommand }
  const call: Tool['call'] = async (request, sent) => {
    const key = readIdempotencyKey(request.headers)
    const sentParams = Object.entries(sent).filter(([name]) => Object.hasOwn(properties, name))
    const read = params.read(Object.fromEntries(sentParams))
    check(sent, 'flaws' in read ? read.flaws : [])
    const id = sent[command] as string | undefined
    const caller = mount.caller(request)
    const outcome = await execute(family, caller, {
      action,
      target: isNew ? undefined : requireId(mount, sent.id as Id),
      params: (read as { readonly params: Members }).params,
      id,
      // The header of a client that retries by itself; an id counts.
      key: id === undefined ? key : undefined,
      precondition (current) {
        if (sent[revision] === undefined || sent[revision] === current.revision) return
        throw preconditionFailed(family.singular, current.revision)
      }
    })
    logOutcome({ mount, request }, outcome)
    const { record, replayed, problem, secrets } = outcome
    if (problem !== undefined) throw replayed ? adviseNewId(problem, id === undefined ? 'key' : 'command id') : problem
    const item = outcome.item ?? await outcome.loadItem?.()
    return {
      ...item && await mayRead({ family, caller }, { ...outcome, item }) &&
        { item: { ...makePicker(family.members)(item), ...secrets } },
      command: showCommand(family, record, outcome.id),
      changed: record.outcome === 'done',
      replayed
    }
  }
  return { ...about, mount, schema, hints, call }
}

// A refusal is replayed too, although the state may allow the operation by now.
function adviseNewId ({ code, message, statusCode: status, errors = [], members }: Problem, used: string): Problem {
  const detail = `${message}. It was refused before under this ${used}; to try again, choose a new one`
  return new Problem(code, detail, { status, errors, members: { ...members, replayed: true } })
}

function requireId ({ family: { readId, singular } }: Mount, id: Id): Id {
  if (readId(String(id)) !== id) throw notFound(singular, id)
  return id
}

/** Those that the caller may use: asked tentatively, as for a page. Throws if it should sign in first. */
export async function listTools (tools: Iterable<Tool>, request: FastifyRequest): Promise<object[]> {
  const grants = new Map<string, Promise<Grant>>()
  const ask = ({ family: { name: family }, retirement, caller }: Mount, action: string): Promise<Grant> => {
    const key = `${family} ${action}`
    const grant = grants.get(key) ?? (async () => {
      if (hasEnded(retirement)) throw explainEnd(retirement)
      return await caller(request).authorize({ family, action, id: undefined, params: {}, tentative: true })
    })()
    grants.set(key, grant)
    return grant
  }
  const asked = await Promise.allSettled(Array.from(tools, async tool => {
    const { mount, action, title, more = '', schema: inputSchema, hints } = tool
    const { offers }: Grant = action === 'list' || action === 'read' ? {} : await ask(mount, 'list').catch(() => ({}))
    if (!(offers?.includes(action) ?? await ask(mount, action))) return []
    const annotations = { title, ...hints, openWorldHint: false }
    return [{ name: nameTool(tool), title, description: `${title}. ${more}`.trim(), inputSchema, annotations }]
  }))
  const granted = asked.flatMap(each => each.status === 'fulfilled' ? each.value : [])
  const problems = asked.flatMap(each => each.status === 'rejected' ? toProblem(each.reason) : [])
  const challenge = granted.length === 0 ? problems.find(isChallenge) : undefined
  const reason = problems.find(({ statusCode }) => statusCode >= 500) ?? challenge
  if (reason !== undefined) throw reason
  return granted
}

/** Whether the client has to act, not the model: to sign in, or to ask for a scope. */
function isChallenge ({ statusCode, headers }: Problem): boolean {
  return statusCode === 401 || Object.keys(headers).some(name => name.toLowerCase() === 'www-authenticate')
}

/** A refusal is a result too, so that the model reads it. */
export async function callTool ({ mount, call }: Tool, request: FastifyRequest, sent: Members): Promise<Members> {
  try {
    if (hasEnded(mount.retirement)) throw explainEnd(mount.retirement)
    const result = await call(request, sent)
    return { content: [{ type: 'text', text: JSON.stringify(result) }], structuredContent: result }
  } catch (error) {
    const problem = toProblem(error)
    if (isChallenge(problem)) throw problem
    if (problem.statusCode >= 500 || problem.code === 'constraint') logFailure(request, problem)
    const text = explain(problem)
    return { content: [{ type: 'text', text }], structuredContent: problem.document(), isError: true }
  }
}

function explain (problem: Problem): string {
  const { title, errors = [], allowed } = problem.document() as { title: string, errors?: Members[], allowed?: unknown }
  const flaws = errors.map(({ pointer, parameter = pointer, detail }) => `- ${String(parameter)}: ${String(detail)}`)
  const others = Array.isArray(allowed) ? [`Allowed now: ${allowed.join(', ') || 'nothing'}`] : []
  // For these, the detail repeats the first flaw.
  const isOfArguments = flaws.length > 0 && ['invalid-body', 'invalid-query'].includes(problem.code)
  return [isOfArguments ? 'The arguments are invalid:' : `${title}: ${problem.message}`, ...flaws, ...others].join('\n')
}
