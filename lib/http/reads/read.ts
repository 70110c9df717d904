import { isDeepStrictEqual } from 'node:util'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { narrowFamily } from '../../core/family/narrow.js'
import { invalidQuery, notFound, Problem } from '../../core/problems.js'
import type { Grammar, ParsedQuery } from '../../core/query/grammar.js'
import type { Caller, Intent } from '../../core/service/caller.js'
import { authorizeReader, openReader, type Reader } from '../../core/service/reader.js'
import type { Representation } from '../../representations/representation.js'
import type { Aim } from '../../representations/target.js'
import { readSearch } from '../body.js'
import type { Exchange, Mount } from '../mount.js'
import type { Choice, RequestedFormat } from '../negotiate.js'
import { toProblem } from '../reply.js'
import { readParameter, readRequestedFormat } from '../request.js'
import type { Documented, Endpoint } from '../routes.js'

export type Answer = (exchange: Exchange) => FastifyReply | Promise<FastifyReply>

/** What may be read: whether the caller may, is asked first. */
export interface Admission<Q> {
  readonly mount: Mount
  /** Undefined if nothing can have this name. */
  intend (request: FastifyRequest, name: string): Intent | undefined
  /** @param mount of the family as the caller sees it */
  parse (search: string, mount: Mount): Q
}

/** One kind of read: the steps that differ from those of other kinds. */
export interface Read<Q> extends Admission<Q> {
  readonly kind: 'one' | 'page'
  /** For the problem, if it does not exist. */
  readonly noun: string
  /** May end with a suffix: `a.json` is an item of this name, or `a` as JSON. Otherwise `extension` has the suffix. */
  readonly parameter?: 'id' | 'command' | 'parameter'
  /** What a representation that responds by itself is asked for; undefined if nothing can have this name. */
  aim (request: FastifyRequest, name: string): Aim | undefined
  /** Undefined if it does not exist. */
  load (loading: Loading<Q>): Promise<Answer | undefined>
  /** Replaces the usual 404. `hint` is the problem of an unknown suffix. */
  explainMissing? (name: string, hint: Problem | undefined): Problem
}

export interface Loading<Q> {
  /** Of the family as the caller sees it. */
  readonly mount: Mount
  readonly request: FastifyRequest
  readonly caller: Caller
  readonly reader: Reader
  readonly intent: Intent
  readonly name: string
  readonly query: Q
  readonly representation: Representation
}

export function readEndpoints<Q> (
  read: Read<Q>, path: string, documented: Documented | undefined, isList = read.kind === 'page'
): Endpoint[] {
  const reads = [read] as const
  const handler: Endpoint['handler'] = (request, reply) => answerRead(reads, request, reply)
  return makeReadEndpoints(path, documented, handler, isList, read.parameter === undefined)
}

export function makeReadEndpoints (
  path: string,
  documented: Documented | undefined,
  handler: Endpoint['handler'],
  isList: boolean,
  hasSuffixes: boolean
): Endpoint[] {
  const plain: Endpoint = { method: 'GET', path, handler, isList }
  const endpoint = documented === undefined ? plain : { ...plain, documented }
  return hasSuffixes ? [endpoint, { ...plain, path: `${path}.:extension` }] : [endpoint]
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
  const isWhole = only.parameter === undefined || !given.includes('.')
  if (reads.length > 1 || extension !== undefined || !isWhole) {
    return await answerMeaning(listMeanings(reads, request, requested), request, reply, search)
  }
  // Most reads have one meaning.
  const choice = only.mount.chooser.choose(only.kind, requested)
  const exchange: Exchange = { mount: only.mount, request, reply, choice }
  if (choice.representation.respond !== undefined) {
    if (await respondTo(only, exchange, given, search)) return reply
    throw explainMissing(only, given)
  }
  const authorized = authorizeRead(only, request, given, search, choice.representation)
  const loading = authorized instanceof Promise ? await authorized : authorized
  const answer = loading && await only.load(loading)
  if (loading === undefined || answer === undefined) throw explainMissing(only, given)
  // Not awaited, so that what was loaded is not kept until the client has received the response.
  return answer(loading.mount === only.mount ? exchange : { ...exchange, mount: loading.mount })
}

function explainMissing<Q> (read: Read<Q>, given: string): Problem {
  return read.explainMissing?.(given, undefined) ?? notFound(read.noun, given)
}

/** By a representation that does so itself; false if what is asked for does not exist. */
async function respondTo<Q> (
  read: Read<Q>,
  { mount, request, reply, choice, suffix }: Exchange,
  name: string,
  search: string
): Promise<boolean> {
  const aim = read.aim(request, name)
  const target = aim && { ...aim, ...choice, mount: mount.shown, search, suffix }
  return target !== undefined && await choice.representation.respond?.(target, request, reply) === true
}

/** What a path can mean: of `/a.json` the item `a.json`, or `a` as JSON. */
interface Meaning<Q> {
  readonly read: Read<Q>
  readonly name: string
  readonly suffix: string | undefined
  readonly choice: Choice | Problem
}

/** @returns with the problem of an unknown suffix, which is not a meaning of the path, but helps to explain a 404 */
function listMeanings<Q> (
  reads: readonly Read<Q>[],
  request: FastifyRequest,
  requested: RequestedFormat
): { readonly meanings: readonly Meaning<Q>[], readonly hint: Problem | undefined } {
  const { extension } = request.params as { extension?: string }
  const meanings: Meaning<Q>[] = []
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
      if (choice instanceof Problem && suffix !== undefined) hint = choice
      else meanings.push({ read, name, suffix, choice })
    }
  }
  return { meanings, hint }
}

/** The first meaning that exists. A refusal counts only if no other does; a failure is final. */
async function answerMeaning<Q> (
  { meanings, hint }: ReturnType<typeof listMeanings<Q>>,
  request: FastifyRequest,
  reply: FastifyReply,
  search: string
): Promise<FastifyReply> {
  if (meanings.every(({ choice }) => choice instanceof Problem)) throw hint ?? meanings[0]?.choice
  let refusal: unknown
  let before: Loading<Q> | undefined
  for (const meaning of meanings) {
    try {
      const { read, name, suffix, choice } = meaning
      if (!(choice instanceof Problem) && choice.representation.respond !== undefined) {
        if (await respondTo(read, { mount: read.mount, request, reply, choice, suffix }, name, search)) return reply
        continue
      }
      before = await authorizeAgain(before, meaning, request, search)
    } catch (error) {
      if (toProblem(error).statusCode >= 500) throw error
      refusal ??= error
      before = undefined
    }
    const { read, suffix, choice } = meaning
    const answer = before && await read.load(before)
    if (before === undefined || answer === undefined) continue
    // Only thrown if the path has this meaning.
    if (choice instanceof Problem) throw choice
    return answer({ mount: before.mount, request, reply, choice, suffix })
  }
  if (refusal !== undefined) throw refusal
  throw explainNone(meanings, request, hint)
}

/** The names `a.json` and `a` in the log of one item have the same intent, which is authorized once. */
async function authorizeAgain<Q> (
  before: Loading<Q> | undefined,
  { read, name, choice }: Meaning<Q>,
  request: FastifyRequest,
  search: string
): Promise<Loading<Q> | undefined> {
  const isShown = !(choice instanceof Problem)
  const query = isShown ? search : ''
  const representation = isShown ? choice.representation : read.mount.representations[0] as Representation
  if (before !== undefined && isDeepStrictEqual(before.intent, read.intend(request, name))) {
    return { ...before, name, query: read.parse(query, before.mount), representation }
  }
  return await authorizeRead(read, request, name, query, representation)
}

function explainNone<Q> (meanings: readonly Meaning<Q>[], request: FastifyRequest, hint: Problem | undefined): Problem {
  const { read } = meanings[0] as Meaning<Q>
  const given = readParameter(request, read.parameter)
  if (read.explainMissing !== undefined) return read.explainMissing(given, hint)
  // Without a suffix that names a representation.
  const { code, message } = notFound(read.noun, meanings.findLast(each => each.read === read)?.name ?? given)
  return new Problem(code, hint === undefined ? message : `${message}. ${hint.message}`)
}

/** Undefined if nothing can have this name. */
export function authorizeRead<Q> (
  read: Admission<Q>,
  request: FastifyRequest,
  name: string,
  search: string,
  representation: Representation
): Loading<Q> | undefined | Promise<Loading<Q>> {
  const intent = read.intend(request, name)
  if (intent === undefined) return undefined
  const { mount } = read
  if (mount.isGuarded) return authorizeAndParse(read, request, intent, name, search, representation)
  const query = read.parse(search, mount)
  const caller = mount.caller(request)
  const reader = authorizeReader(mount.family, caller, intent)
  const finish = (reader: Reader): Loading<Q> =>
    ({ mount, request, caller, reader, intent, name, query, representation })
  return reader instanceof Promise ? reader.then(finish) : finish(reader)
}

// Nothing is parsed for a refused client, and no storage is opened for an invalid query.
async function authorizeAndParse<Q> (
  { mount: whole, parse }: Admission<Q>,
  request: FastifyRequest,
  intent: Intent,
  name: string,
  search: string,
  representation: Representation
): Promise<Loading<Q>> {
  const caller = whole.caller(request)
  const grant = await caller.authorize(intent)
  const mount = whole.as(narrowFamily(whole.family, grant.hide))
  const query = parse(search, mount)
  const reader = await openReader(mount.family, caller, grant)
  return { mount, request, caller, reader, intent, name, query, representation }
}

/** Throws what is wrong with it. */
export function parseQuery (grammar: Grammar, search: string): ParsedQuery {
  const parsed = grammar.parse(search)
  if ('flaws' in parsed) throw invalidQuery(parsed.flaws)
  return parsed
}

export type OneQuery = Pick<ParsedQuery, 'fields' | 'expand'>

const plainQuery: OneQuery = {}

export function parseOne (grammar: Grammar, search: string): OneQuery {
  if (search === '') return plainQuery
  const parsed = parseQuery(grammar, search)
  refuseMisplaced(grammar, parsed)
  return parsed
}

/** For what is a single resource. */
export function refuseMisplaced (
  { references }: Grammar, { parameters }: { readonly parameters: readonly { readonly name: string }[] }
): void {
  const allowed = ['fields', 'format', ...references.length > 0 ? ['expand'] : []]
  const misplaced = parameters.filter(({ name }) => !allowed.includes(name))
  if (misplaced.length === 0) return
  const detail = `This is a single resource; allowed parameters: ${allowed.join(' and ')}`
  throw invalidQuery(misplaced.map(({ name }) => ({ parameter: name, detail })))
}

export const seenHeader = 'dealbook-seen'

const fresh = new WeakSet<FastifyRequest>()

/** For what shows the outcome of a command of the client, which sends no header: it is not read from a replica. */
export function readFresh (request: FastifyRequest): void {
  fresh.add(request)
}

/** Undefined if the request does more than show something. */
export function readSeen (request: FastifyRequest): { readonly seen: string | undefined } | undefined {
  if (!['GET', 'HEAD', 'QUERY'].includes(request.method) || fresh.has(request)) return undefined
  const seen = request.headers[seenHeader]
  return { seen: seen === undefined ? undefined : String(seen) }
}
