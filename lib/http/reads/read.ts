import { isDeepStrictEqual } from 'node:util'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { invalidQuery, notFound, Problem, type QueryFlaw } from '../../core/problems.js'
import { isAmount, readAmount } from '../../core/query/amounts.js'
import type { Grammar, ParsedQuery } from '../../core/query/grammar.js'
import { decodeText, type Parameter, splitQuery } from '../../core/query/query-string.js'
import type { Caller, Intent } from '../../core/service/caller.js'
import { authorizeReader, openReader, type Reader } from '../../core/service/reader.js'
import { isTextId } from '../../core/values/ids.js'
import type { Representation } from '../../representations/representation.js'
import { readSearch } from '../body.js'
import type { Exchange, Mount } from '../mount.js'
import type { Choice } from '../negotiate.js'
import { toProblem } from '../reply.js'
import { readParameter, readRequestedFormat, splitUrl } from '../request.js'
import type { Endpoint, RouteSchema } from '../routes.js'

export type Answer = (exchange: Exchange) => FastifyReply | Promise<FastifyReply>

/** One kind of read: the steps that differ from those of other kinds. */
export interface Read<Q> {
  readonly mount: Mount
  readonly kind: 'one' | 'page'
  /** For the problem, if it does not exist. */
  readonly noun: string
  /** May end with a suffix: `a.json` is an item of this name, or `a` as JSON. Otherwise `extension` has the suffix. */
  readonly parameter?: 'id' | 'command' | 'parameter'
  /** Undefined if nothing can have this name. */
  intend (request: FastifyRequest, name: string): Intent | undefined
  parse (search: string, representation: Representation): Q
  /** Undefined if it does not exist. */
  load (loading: Loading<Q>): Promise<Answer | undefined>
  /** Replaces the usual 404. `hint` is the problem of an unknown suffix. */
  explainMissing? (name: string, hint: Problem | undefined): Problem
}

export interface Loading<Q> {
  readonly request: FastifyRequest
  readonly caller: Caller
  readonly reader: Reader
  readonly intent: Intent
  readonly name: string
  readonly query: Q
  readonly representation: Representation
}

export function readEndpoints<Q> (
  read: Read<Q>, path: string, schema: RouteSchema, isList = read.kind === 'page'
): Endpoint[] {
  const reads = [read] as const
  const handler: Endpoint['handler'] = (request, reply) => answerRead(reads, request, reply)
  return makeReadEndpoints(path, schema, handler, isList, read.parameter === undefined)
}

export function makeReadEndpoints (
  path: string, schema: RouteSchema, handler: Endpoint['handler'], isList: boolean, hasSuffixes: boolean
): Endpoint[] {
  const endpoint: Endpoint = { method: 'GET', path, schema, handler, isList }
  return hasSuffixes ? [endpoint, { ...endpoint, path: `${path}.:extension`, schema: { hide: true } }] : [endpoint]
}

/**
 * The pipeline of every read: negotiate, authorize, parse, load, represent. A client learns nothing before `authorize`
 * has permitted the request. If a path can mean several things, the first that exists is used.
 */
export async function answerRead<Q> (
  reads: readonly [Read<Q>, ...Read<Q>[]],
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  const search = readSearch(request)
  const requested = readRequestedFormat(request.headers, search)
  const { extension } = request.params as { extension?: string }
  const [only] = reads
  const given = readParameter(request, only.parameter)
  // Most reads have one meaning.
  if (reads.length === 1 && extension === undefined && (only.parameter === undefined || !given.includes('.'))) {
    const choice = only.mount.chooser.choose(only.kind, requested)
    const admitted = admit(only, request, given, search, choice.representation)
    const loading = admitted instanceof Promise ? await admitted : admitted
    const answer = loading && await only.load(loading)
    if (answer === undefined) throw only.explainMissing?.(given, undefined) ?? notFound(only.noun, given)
    // Not awaited, so that what was loaded is not kept until the client has received the response.
    return answer({ mount: only.mount, request, reply, choice, suffix: undefined })
  }
  const meanings: { read: Read<Q>, name: string, suffix: string | undefined, choice: Choice | Problem }[] = []
  let hint: Problem | undefined
  for (const read of reads) {
    const { mount: { chooser }, kind, parameter } = read
    const whole = readParameter(request, parameter)
    const dot = parameter === undefined ? -1 : whole.lastIndexOf('.')
    const names: [name: string, suffix: string | undefined][] = [[whole, extension]]
    // A name may itself end like a suffix, so the whole text is tried first.
    if (dot > 0) names.push([whole.slice(0, dot), whole.slice(dot + 1)])
    for (const [name, suffix] of names) {
      const choice = chooser.find(kind, { ...requested, suffix })
      // An unknown suffix is not a meaning of the path, but helps to explain a 404.
      if (choice instanceof Problem && suffix !== undefined) hint = choice
      else meanings.push({ read, name, suffix, choice })
    }
  }
  if (meanings.every(({ choice }) => choice instanceof Problem)) throw hint ?? meanings[0]?.choice
  let refusal: unknown
  let loading: Loading<Q> | undefined
  for (const { read, name, suffix, choice } of meanings) {
    const isShown = !(choice instanceof Problem)
    const query = isShown ? search : ''
    const representation = isShown ? choice.representation : read.mount.representations[0] as Representation
    try {
      // The names `a.json` and `a` in the log of one item have the same intent, which is authorized once.
      const admitted = loading !== undefined && isDeepStrictEqual(loading.intent, read.intend(request, name))
        ? { ...loading, name, query: read.parse(query, representation), representation }
        : admit(read, request, name, query, representation)
      loading = admitted instanceof Promise ? await admitted : admitted
    } catch (error) {
      // A refusal counts only if no other meaning exists; a failure is final.
      if (toProblem(error).statusCode >= 500) throw error
      refusal ??= error
      loading = undefined
    }
    const answer = loading && await read.load(loading)
    if (answer === undefined) continue
    // Only thrown if the path has this meaning.
    if (!isShown) throw choice
    return answer({ mount: read.mount, request, reply, choice, suffix })
  }
  if (refusal !== undefined) throw refusal
  if (only.explainMissing !== undefined) throw only.explainMissing(given, hint)
  // Without a suffix that names a representation.
  const { code, message } = notFound(only.noun, meanings.findLast(({ read }) => read === only)?.name ?? given)
  throw new Problem(code, hint === undefined ? message : `${message}. ${hint.message}`)
}

/** Undefined if nothing can have this name. */
export function admit<Q> (
  read: Read<Q>,
  request: FastifyRequest,
  name: string,
  search: string,
  representation: Representation
): Loading<Q> | undefined | Promise<Loading<Q>> {
  const intent = read.intend(request, name)
  if (intent === undefined) return undefined
  const { mount } = read
  if (mount.isGuarded) return authorizeAndParse(read, request, intent, name, search, representation)
  const query = read.parse(search, representation)
  const caller = mount.caller(request)
  const reader = authorizeReader(mount.family, caller, intent)
  const finish = (reader: Reader): Loading<Q> => ({ request, caller, reader, intent, name, query, representation })
  return reader instanceof Promise ? reader.then(finish) : finish(reader)
}

// Nothing is parsed for a refused client, and no storage is opened for an invalid query.
async function authorizeAndParse<Q> (
  { mount, parse }: Read<Q>,
  request: FastifyRequest,
  intent: Intent,
  name: string,
  search: string,
  representation: Representation
): Promise<Loading<Q>> {
  const caller = mount.caller(request)
  const grant = await caller.authorize(intent)
  const query = parse(search, representation)
  const reader = await openReader(mount.family, caller, grant)
  return { request, caller, reader, intent, name, query, representation }
}

/** @param order for pages, unless the query has one */
export function parsePageQuery (
  grammar: Grammar,
  search: string,
  { interactive }: Representation,
  order?: string
): ParsedQuery {
  const { sent, flaws } = interactive === true ? readSent(grammar, search) : { sent: search, flaws: [] }
  const parsed = grammar.parse(interactive === true ? complete(sent, order) : sent)
  if ('flaws' in parsed) throw invalidQuery([...flaws, ...parsed.flaws])
  if (flaws.length > 0) throw invalidQuery(flaws)
  return parsed
}

const language = '_language'

/** A form of a page sends its empty fields too, and amounts as they were typed. */
export function readSent (
  { filters }: Grammar,
  search: string
): { readonly sent: string, readonly flaws: QueryFlaw[], readonly isTyped: boolean } {
  const sent = search.split('&').filter(part => part !== '' && !/^[^=]*=$/.test(part))
  const parts = search.includes(language) ? sent.flatMap(part => splitQuery(part)) : []
  const typed = parts.find(({ name }) => name === language) as Parameter | undefined
  if (typed === undefined) return { sent: sent.join('&'), flaws: [], isTyped: false }
  const flaws: QueryFlaw[] = []
  const read = parts.filter(part => part.name !== language).flatMap((part): string[] => {
    const field = part.name === undefined ? undefined : filters.get(part.name)?.field
    // The inputs of the form; others are as in a link.
    const isInput = field !== undefined && isAmount(field) && /^m(in|ax)-/.test(part.name as string)
    if (!isInput) return [part.raw]
    const { name, value } = part as Parameter
    const amount = readAmount(typed.value, field.kind, value)
    if ('value' in amount) return [`${encodeURIComponent(name)}=${encodeURIComponent(amount.value)}`]
    flaws.push({ parameter: name, detail: `${name} ${amount.expected}` })
    return []
  })
  return { sent: read.join('&'), flaws, isTyped: true }
}

function complete (search: string, order: string | undefined): string {
  const sent = search === '' ? [] : [search]
  // A cursor belongs to one order.
  const isOrdered = splitQuery(search).some(({ name = '' }) => ['sort', 'after', 'before'].includes(name))
  return [...sent, ...isOrdered || order === undefined ? [] : [`sort=${order}`]].join('&')
}

export type OneQuery = Pick<ParsedQuery, 'fields' | 'expand'>

const all: OneQuery = {}

export function parseOne (grammar: Grammar, search: string, representation: Representation): OneQuery {
  if (search === '') return all
  const parsed = parsePageQuery(grammar, search, representation)
  const allowed = ['fields', 'format', ...grammar.references.length > 0 ? ['expand'] : []]
  const misplaced = parsed.parameters.filter(({ name }) => !allowed.includes(name))
  if (misplaced.length === 0) return parsed
  const detail = `This is a single resource; allowed parameters: ${allowed.join(' and ')}`
  throw invalidQuery(misplaced.map(({ name }) => ({ parameter: name, detail })))
}

const feedback = 'dealbook-command'

// A cookie, so that the address of the page stays the one to share. It ends with the page that shows it.
export function setFeedback (reply: FastifyReply, url: string, command: string): void {
  writeFeedback(reply, new URL(url, 'http://localhost').pathname, command, 60)
}

function writeFeedback (reply: FastifyReply, path: string, command: string, seconds: number): void {
  const isSecure = reply.request.protocol === 'https'
  reply.header('set-cookie', `${feedback}=${encodeURIComponent(command)}; Path=${path.replaceAll(';', '%3B')}; ` +
    `Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`)
}

/** The command whose outcome the page shows. */
export function readFeedback ({ headers: { cookie = '' } }: FastifyRequest): string | undefined {
  const text = cookie.includes(feedback) ? new RegExp(`(?:^|;\\s*)${feedback}=([^;]*)`).exec(cookie)?.[1] : undefined
  const command = text === undefined ? undefined : decodeText(text)
  return command !== undefined && isTextId(command) ? command : undefined
}

export function endFeedback (reply: FastifyReply, url: string): void {
  writeFeedback(reply, new URL(url, 'http://localhost').pathname, '', 0)
}

export const seenHeader = 'dealbook-seen'

/** Undefined if the request does more than show something, or shows the outcome of a form, which sends no headers. */
export function readSeen (request: FastifyRequest): { readonly seen: string | undefined } | undefined {
  const isOutcome = readFeedback(request) !== undefined || splitUrl(request).search.includes('_result=')
  if (!['GET', 'HEAD', 'QUERY'].includes(request.method) || isOutcome) return undefined
  const seen = request.headers[seenHeader]
  return { seen: seen === undefined ? undefined : String(seen) }
}
