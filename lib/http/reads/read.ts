import { isDeepStrictEqual } from 'node:util'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { invalidQuery, Problem } from '../../core/problems.js'
import type { Grammar, ParsedQuery } from '../../core/query/grammar.js'
import { readTextParameter } from '../../core/query/query-string.js'
import type { Caller, Intent } from '../../core/service/caller.js'
import { Reader } from '../../core/service/reader.js'
import { isTextId } from '../../core/values/ids.js'
import type { Representation } from '../../representations/representation.js'
import type { Exchange, Mount } from '../mount.js'
import type { Choice, RequestedFormat } from '../negotiate.js'
import { readRequestedFormat, splitUrl } from '../request.js'
import type { Endpoint } from '../routes.js'
import { toProblem } from '../to-problem.js'

/** One kind of read, as the steps that are its own. */
export interface Read<Q, L> {
  readonly mount: Mount
  readonly kind: 'one' | 'page'
  /** What the path names. */
  locate (request: FastifyRequest): Location
  /** What is asked for by this name; undefined where nothing can have it. */
  intend (request: FastifyRequest, name: string): Intent | undefined
  parse (search: string, representation: Representation): Q
  /** Undefined where it does not exist. */
  load (loading: Loading<Q>): Promise<L | undefined>
  represent (exchange: Exchange, query: Q, loaded: L): FastifyReply | Promise<FastifyReply>
  /** The problem where it does not exist. @param refusal of what else the path may mean, such as an unknown suffix */
  miss (name: string, refusal: Problem | undefined): Problem
}

/** What the path names, and the suffix that chooses the representation. */
interface Location {
  readonly name: string
  /** Where the route has it apart. */
  readonly suffix?: string | undefined
  /** Whether the name itself may end with one: `a.json` is an item of this name, or the item `a` as JSON. */
  readonly isSuffixed?: boolean
}

/** What a read loads from. */
export interface Loading<Q> {
  readonly request: FastifyRequest
  readonly caller: Caller
  readonly reader: Reader
  readonly intent: Intent
  readonly name: string
  readonly query: Q
  readonly representation: Representation
}

/** One of the things that a path can mean. */
interface Candidate<Q, L> {
  readonly read: Read<Q, L>
  readonly name: string
  readonly suffix: string | undefined
  /** Or why there is none, should it turn out that this is what the path means. */
  readonly choice: Choice | Problem
}

/** The pipeline of every read. */
export function readHandler<Q, L> (read: Read<Q, L>): Endpoint['handler'] {
  const reads = [read] as const
  return (request, reply) => answerRead(reads, request, reply)
}

/**
 * Negotiate, authorize, parse, load, represent: in this order, so that a client learns nothing before `authorize` has
 * let the request in. Where a path can mean several things, the first that exists answers.
 */
export async function answerRead<Q, L> (
  reads: readonly [Read<Q, L>, ...Read<Q, L>[]],
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  const { candidates, hint } = negotiate(reads, request)
  const { search } = splitUrl(request)
  let refusal: unknown
  let earlier: Loading<Q> | undefined
  for (const { read, name, suffix, choice } of candidates) {
    const { mount } = read
    let loading: Loading<Q> | undefined
    try {
      loading = choice instanceof Problem
        ? await admit(read, request, name, '', mount.representations[0] as Representation, earlier)
        : await admit(read, request, name, search, choice.representation, earlier)
    } catch (error) {
      // Each meaning is asked for by itself: a refusal counts only where no other exists. What broke is final.
      if (toProblem(error).statusCode >= 500) throw error
      refusal ??= error
    }
    const loaded = loading && await read.load(loading)
    earlier = loading
    if (loading === undefined || loaded === undefined) continue
    if (choice instanceof Problem) throw choice
    // Not awaited: what was loaded is not kept until the client has taken the answer.
    return read.represent({ mount, request, reply, choice, suffix }, loading.query, loaded)
  }
  throw refusal ?? reads[0].miss(reads[0].locate(request).name, hint)
}

/**
 * Authorizes and parses; undefined where nothing can have this name.
 *
 * @param earlier of another meaning of the same path: the grant for the same intent holds for this one too
 */
export async function admit<Q, L> (
  read: Read<Q, L>,
  request: FastifyRequest,
  name: string,
  search: string,
  representation: Representation,
  earlier?: Loading<Q>
): Promise<Loading<Q> | undefined> {
  const intent = read.intend(request, name)
  if (intent === undefined) return undefined
  if (earlier !== undefined && isDeepStrictEqual(earlier.intent, intent)) {
    return { ...earlier, name, query: read.parse(search, representation), representation }
  }
  const caller = read.mount.caller(request)
  const grant = await caller.authorize(intent)
  const query = read.parse(search, representation)
  const reader = new Reader(read.mount.family, await caller.storage(), grant, caller.signal)
  return { request, caller, reader, intent, name, query, representation }
}

/** Everything that the path can mean, in the representation that is asked for with it. */
function negotiate<Q, L> (
  reads: readonly Read<Q, L>[],
  request: FastifyRequest
): { candidates: Candidate<Q, L>[], hint: Problem | undefined } {
  const requested = readRequestedFormat(request)
  const candidates: Candidate<Q, L>[] = []
  let isShowable = false
  let hint: Problem | undefined
  for (const read of reads) {
    for (const { name, suffix } of listMeanings(read.locate(request))) {
      const choice = choose(read, suffix === undefined ? requested : { ...requested, suffix })
      const isRefused = choice instanceof Problem
      isShowable ||= !isRefused
      // An unknown suffix is no meaning of the path, but may be what was meant.
      if (suffix !== undefined && isRefused) hint = choice
      else candidates.push({ read, name, suffix, choice })
    }
  }
  if (isShowable) return { candidates, hint }
  throw hint ?? candidates[0]?.choice
}

function choose<Q, L> ({ mount, kind }: Read<Q, L>, requested: RequestedFormat): Choice | Problem {
  try {
    return mount.chooser.choose(kind, requested)
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

// A name may itself end like a suffix, so the whole text is tried first.
function listMeanings (location: Location): readonly Pick<Location, 'name' | 'suffix'>[] {
  const { name, isSuffixed = false } = location
  const dot = isSuffixed ? name.lastIndexOf('.') : -1
  if (dot <= 0) return [location]
  return [{ name }, { name: name.slice(0, dot), suffix: name.slice(dot + 1) }]
}

/** The problem of what does not exist, with what else may be wrong: an unknown suffix. */
export function addHint (problem: Problem, hint: Problem | undefined): Problem {
  return hint === undefined ? problem : new Problem(problem.code, `${problem.message}. ${hint.message}`)
}

/** The query of a page, or the problem that names all that is wrong with it. */
export function parsePageQuery (grammar: Grammar, search: string, { interactive }: Representation): ParsedQuery {
  const parsed = grammar.parse(interactive === true ? dropEmpty(search) : search)
  if ('flaws' in parsed) throw invalidQuery(parsed.flaws)
  return parsed
}

// A form sends its empty fields too.
function dropEmpty (search: string): string {
  return search.split('&').filter(part => !/^[^=]*=$/.test(part)).join('&')
}

/** The parameters of one resource, of which there is nothing to filter. */
export type OneQuery = Partial<Pick<ParsedQuery, 'fields' | 'expand'>>

const all: OneQuery = {}

export function parseOne (grammar: Grammar, search: string, representation: Representation): OneQuery {
  if (search === '') return all
  const { parameters, fields, expand } = parsePageQuery(grammar, search, representation)
  const allowed = ['fields', 'format', ...grammar.references.length > 0 ? ['expand'] : []]
  const misplaced = parameters.filter(({ name }) => !allowed.includes(name))
  if (misplaced.length === 0) return { fields, expand }
  const detail = `One resource is read here; allowed are ${allowed.join(' and ')}`
  throw invalidQuery(misplaced.map(({ name }) => ({ parameter: name, detail })))
}

// No field can be named so.
const feedback = '_command'

/** The address of a page that shows the outcome of a command, out of the log. */
export function addFeedback (url: string, command: string | undefined): string {
  return command === undefined ? url : `${url}?${feedback}=${encodeURIComponent(command)}`
}

/** The query of a page for people, and apart from it the command whose outcome the page shows. */
export function splitFeedback (search: string): { readonly rest: string, readonly command: string | undefined } {
  if (!search.includes(feedback)) return { rest: search, command: undefined }
  const command = readTextParameter(search, feedback)
  const rest = search.split('&').filter(part => !part.startsWith(`${feedback}=`)).join('&')
  return { rest, command: command !== undefined && isTextId(command) ? command : undefined }
}
