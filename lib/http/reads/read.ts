import { isDeepStrictEqual } from 'node:util'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { invalidQuery, Problem } from '../../core/problems.js'
import type { Grammar, ParsedQuery } from '../../core/query/grammar.js'
import type { Caller, Intent } from '../../core/service/caller.js'
import { Reader } from '../../core/service/reader.js'
import type { Representation } from '../../representations/representation.js'
import type { Exchange, Mount } from '../mount.js'
import type { Choice } from '../negotiate.js'
import { readWish, splitUrl } from '../request.js'
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
  /** Undefined where it is not there. */
  load (loading: Loading<Q>): Promise<L | undefined>
  represent (exchange: Exchange, query: Q, loaded: L): FastifyReply | Promise<FastifyReply>
  /** The problem where it is not there. @param refusal of what else the path may mean, as an unknown suffix */
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
  readonly reply: FastifyReply
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
 * Negotiate, authorize, parse, load, represent: in this order, so that nobody learns anything of what is here before
 * `authorize` has let the request in. Where a path can mean several things, the first that is there answers.
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
      loading = await admit(read, { request, reply }, choice instanceof Problem
        ? { name, search: '', representation: mount.representations[0] as Representation, earlier }
        : { name, search, representation: choice.representation, earlier })
    } catch (error) {
      // Each meaning is asked for by itself: a refusal counts only where no other is there. What broke is final.
      if (toProblem(error).statusCode >= 500) throw error
      refusal ??= error
    }
    const loaded = loading && await read.load(loading)
    earlier = loading
    if (loading === undefined || loaded === undefined) continue
    if (choice instanceof Problem) throw choice
    return await read.represent({ mount, request, reply, choice, suffix }, loading.query, loaded)
  }
  throw refusal ?? reads[0].miss(reads[0].locate(request).name, hint)
}

/** What is asked for, in which representation. */
interface Asked<Q> {
  readonly name: string
  readonly search: string
  readonly representation: Representation
  /** Of another meaning of the same path: what was granted for the same intent holds for this one too. */
  readonly earlier?: Loading<Q> | undefined
}

/** Authorizes and parses; undefined where nothing can have this name. */
export async function admit<Q, L> (
  read: Read<Q, L>,
  { request, reply }: Pick<Exchange, 'request' | 'reply'>,
  { name, search, representation, earlier }: Asked<Q>
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
  return { request, reply, caller, reader, intent, name, query, representation }
}

/** Everything that the path can mean, in the representation that is asked for with it. */
function negotiate<Q, L> (
  reads: readonly Read<Q, L>[],
  request: FastifyRequest
): { candidates: Candidate<Q, L>[], hint: Problem | undefined } {
  const candidates: Candidate<Q, L>[] = []
  let hint: Problem | undefined
  for (const read of reads) {
    for (const { name, suffix } of listMeanings(read.locate(request))) {
      const choice = choose(read, request, suffix)
      // A suffix that is none is no meaning of the path, but may be what was meant.
      if (suffix !== undefined && choice instanceof Problem) hint = choice
      else candidates.push({ read, name, suffix, choice })
    }
  }
  if (candidates.some(({ choice }) => !(choice instanceof Problem))) return { candidates, hint }
  throw hint ?? candidates[0]?.choice
}

function choose<Q, L> ({ mount, kind }: Read<Q, L>, request: FastifyRequest, suffix?: string): Choice | Problem {
  try {
    return mount.chooser.choose(kind, readWish(request, suffix))
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

/** The problem of what is not there, with what else may be wrong: a suffix that is none. */
export function addHint (problem: Problem, hint: Problem | undefined): Problem {
  return hint === undefined ? problem : new Problem(problem.code, `${problem.message}. ${hint.message}`)
}

// A name may itself end like a suffix, so the whole text is tried first.
function listMeanings ({ name, suffix, isSuffixed = false }: Location): Pick<Location, 'name' | 'suffix'>[] {
  const dot = isSuffixed ? name.lastIndexOf('.') : -1
  if (dot <= 0) return [{ name, suffix }]
  return [{ name }, { name: name.slice(0, dot), suffix: name.slice(dot + 1) }]
}

/** The query of a page, or the problem that names all that is wrong with it. */
export function parsePageQuery (grammar: Grammar, search: string, { interactive }: Representation): ParsedQuery {
  // A form sends its empty fields too.
  const isFilled = (part: string) => !/^[^=]*=$/.test(part)
  const parsed = grammar.parse(interactive === true ? search.split('&').filter(isFilled).join('&') : search)
  if ('flaws' in parsed) throw invalidQuery(parsed.flaws)
  return parsed
}

/** What is to be shown of one resource, of which there is nothing to filter. */
export function parseOne (
  grammar: Grammar,
  search: string,
  representation: Representation
): Partial<Pick<ParsedQuery, 'fields' | 'expand'>> {
  if (search === '') return {}
  const { parameters, fields, expand } = parsePageQuery(grammar, search, representation)
  const allowed = ['fields', 'format', ...grammar.references.length > 0 ? ['expand'] : []]
  const misplaced = parameters.filter(({ name }) => !allowed.includes(name))
  if (misplaced.length === 0) return { fields, expand }
  const detail = `One resource is read here; allowed are ${allowed.join(' and ')}`
  throw invalidQuery(misplaced.map(({ name }) => ({ parameter: name, detail })))
}

/** The members to show of it; undefined for all. */
export function parseFields (
  grammar: Grammar,
  search: string,
  representation: Representation
): readonly string[] | undefined {
  return parseOne(grammar, search, representation).fields
}
