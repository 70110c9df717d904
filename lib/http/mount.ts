import type { TSchema } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Family } from '../core/family/family.js'
import type { Grammar } from '../core/query/grammar.js'
import type { Caller } from '../core/service/caller.js'
import type { Makers } from '../core/service/makers.js'
import type { Representation } from '../representations/representation.js'
import type { Choice, Chooser } from './negotiate.js'
import type { Neighbours } from './neighbours.js'
import type { Retirement } from './retirement.js'
import type { Urls } from './urls.js'

/** One registration of a family in an application: everything that its requests need. */
export interface Mount {
  readonly family: Family
  readonly prefix: string
  readonly version: string | undefined
  /** The families at the same prefix, itself among them. */
  readonly neighbours: Neighbours
  /** The storage, or the function that chooses one: those who have the same are kept together. */
  readonly storage: unknown
  /** The path of the collection after the prefix. */
  readonly home: string
  readonly urls: Urls
  readonly grammar: Grammar
  readonly logGrammar: Grammar
  readonly representations: readonly Representation[]
  readonly chooser: Chooser
  readonly emptyList: 'page' | 'not-found'
  /** Milliseconds that an export, or a large page, waits for a client that takes nothing. */
  readonly exportTimeout: number
  readonly preconditions: 'optional' | 'required'
  /** The names of the forms in which operations can be said. */
  readonly forms: ReadonlySet<string>
  /** The schemas that descriptions of its routes refer to, by their ids; the descriptions put them there. */
  readonly schemas: Map<string, TSchema>
  /** How many flaws a problem names. */
  readonly maxFlaws: number
  readonly trustedOrigins: readonly string[]
  /** Whether it asks for the paths without a version. */
  readonly unversioned: boolean
  readonly retirement: Retirement
  /** Whether the host says who may do what, so that pages differ by who asks. */
  readonly isGuarded: boolean
  readonly makers: Makers
  /** On whose behalf a request reads and writes. */
  caller (request: FastifyRequest): Caller
}

/** A request under way, and the representation to answer it in. */
export interface Exchange {
  readonly mount: Mount
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly choice: Choice
  /** The suffix of the path that chose the representation. */
  readonly suffix?: string | undefined
}
