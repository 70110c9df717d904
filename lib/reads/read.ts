import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Choice } from '../http/negotiate.js'
import { readWish } from '../http/request.js'
import { splitUrl } from '../http/request.js'
import type { Endpoint } from '../http/routes.js'
import { toProblem } from '../http/to-problem.js'
import type { Exchange, Mount } from '../mount/mount.js'
import { invalidQuery, Problem } from '../problems.js'
import type { Grammar, ParsedQuery } from '../query/grammar.js'
import type { Representation } from '../representations/representation.js'
import type { Caller, Intent } from '../service/caller.js'
import { Reader } from '../service/reader.js'

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
export interface Location {
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
  readonly choice: Choice
}

/** The pipeline of every read. */
export function readHandler<Q, L> (read: Read<Q, L>): Endpoint['handler'] {
  return async (request, reply) => await answerRead([read], request, reply)
}

/**
 * Negotiate, authorize, parse, load, represent: in this order, so that nobody learns anything of what is here before
 * `authorize` has let the request in. The first of several reads that finds something answers.
 */
export async function answerRead<Q, L> (
  reads: readonly [Read<Q, L>, ...Read<Q, L>[]],
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  const { candidates, refusal } = negotiate(reads, request)
  const { search } = splitUrl(request)

  const found = await findFirst(candidates, async ({ read, name, suffix, choice }) => {
    const { mount } = read
    const { representation } = choice
    const intent = read.intend(request, name)
    if (intent === undefined) return undefined
    const caller = mount.caller(request)
    const grant = await caller.authorize(intent)
    const query = read.parse(search, representation)
    const reader = new Reader(mount.family, await caller.storage(), grant)
    const loaded = await read.load({ request, caller, reader, intent, name, query, representation })
    if (loaded === undefined) return undefined
    return () => read.represent({ mount, request, reply, choice, suffix }, query, loaded)
  })

  if (found === undefined) throw reads[0].miss(reads[0].locate(request).name, refusal)
  return await found()
}

/** Everything that the path can mean, in the representation that is asked for with it. */
function negotiate<Q, L> (
  reads: readonly Read<Q, L>[],
  request: FastifyRequest
): { candidates: Candidate<Q, L>[], refusal: Problem | undefined } {
  const candidates: Candidate<Q, L>[] = []
  let refusal: Problem | undefined
  for (const read of reads) {
    for (const { name, suffix } of listMeanings(read.locate(request))) {
      try {
        const choice = read.mount.chooser.choose(read.kind, readWish(request, suffix))
        candidates.push({ read, name, suffix, choice })
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        refusal ??= error
      }
    }
  }
  if (candidates.length === 0) throw refusal
  return { candidates, refusal }
}

// A name may itself end like a suffix, so the whole text is tried first.
function listMeanings ({ name, suffix, isSuffixed = false }: Location): Pick<Location, 'name' | 'suffix'>[] {
  const dot = isSuffixed ? name.lastIndexOf('.') : -1
  if (dot <= 0) return [{ name, suffix }]
  return [{ name }, { name: name.slice(0, dot), suffix: name.slice(dot + 1) }]
}

/** The first that is found. A refusal counts only where no other is found, since each is asked for by itself. */
async function findFirst<K, T> (
  candidates: readonly K[],
  find: (candidate: K) => Promise<T | undefined>
): Promise<T | undefined> {
  const refusals: unknown[] = []
  for (const candidate of candidates) {
    try {
      const found = await find(candidate)
      if (found !== undefined) return found
    } catch (error) {
      // What broke, in contrast to what was refused, is not tried in another way.
      if (toProblem(error).statusCode >= 500) throw error
      refusals.push(error)
    }
  }
  if (refusals.length > 0) throw refusals[0]
  return undefined
}

/** The query of a page, or the problem that names all that is wrong with it. */
export function parsePageQuery (grammar: Grammar, search: string, { interactive }: Representation): ParsedQuery {
  // A form sends its empty fields too.
  const isFilled = (part: string) => !/^[^=]*=$/.test(part)
  const parsed = grammar.parse(interactive === true ? search.split('&').filter(isFilled).join('&') : search)
  if ('flaws' in parsed) throw invalidQuery(parsed.flaws)
  return parsed
}

/** The members to show of one resource, of which there is nothing to filter; undefined for all. */
export function parseFields (
  grammar: Grammar,
  search: string,
  representation: Representation
): readonly string[] | undefined {
  if (search === '') return undefined
  const { parameters, fields } = parsePageQuery(grammar, search, representation)
  const misplaced = parameters.filter(({ name }) => name !== 'fields' && name !== 'format')
  if (misplaced.length === 0) return fields
  const detail = 'One resource is read here; allowed are fields and format'
  throw invalidQuery(misplaced.map(({ name }) => ({ parameter: name, detail })))
}
