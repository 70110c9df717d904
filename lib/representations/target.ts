import type { FastifyRequest } from 'fastify'
import type { Book } from '../core/book/book.js'
import type { FamilyModel } from '../core/book/describe.js'
import type { AnyFamily } from '../core/family/types.js'
import type { ServiceOptions } from '../core/service/service.js'
import type { Id, Storage } from '../core/storage/storage.js'
import type { MemberFlaw } from '../core/values/json.js'

/** A family that is registered in an application, for other front ends and protocols. */
export interface FamilyMount {
  /** The family, such as for `consume`, or for a service of what acts without a request. */
  readonly family: AnyFamily & { service (options: ServiceOptions): Book }
  readonly model: FamilyModel
  /** Those with which it was registered (`FamilyOptions`). */
  readonly options: object
  readonly prefix: string
  readonly version?: string
  /** Whether it is the version of its family that has the paths without a version; if none has, the last. */
  readonly isDefault: boolean
  /** Whether its `sunset` has passed: it refuses everything. */
  readonly hasEnded: boolean
  /** Whether it has `authorize`. */
  readonly isGuarded: boolean
  /** Whether a change of an item needs its revision. */
  readonly needsRevision: boolean
  readonly pageSize: number
  readonly maxPageSize: number
  /** Undefined if it is chosen by request. */
  readonly storage?: Storage
  /**
   * The URL of the list, of an item, or of a part of it such as `commands`.
   *
   * @param request needed if the prefix has parameters, such as `/:tenant`
   */
  url (id?: Id, part?: string, request?: FastifyRequest): string
  /** An id, as it is in a URL; undefined if no item can have it. */
  readId (text: string): Id | undefined
  /** What is wrong with the parameters of an action, such as `HoldDeal`. `book` refuses them too. */
  findFlaws (action: string, params: unknown): readonly MemberFlaw[]
  /** The family as the caller of a request may use it: by `authorize`, the storage and the limits of the mount. */
  book (request: FastifyRequest): Book
}

/** What a read asks for. */
export type Aim =
  | { readonly kind: 'home' | 'list' }
  | { readonly kind: 'item' | 'operations', readonly id: Id }
  /** `noun`: only the part of the log that an operation has. */
  | { readonly kind: 'log', readonly id: Id, readonly noun?: string | undefined }
  | { readonly kind: 'entry', readonly id: Id, readonly command: string, readonly noun?: string | undefined }
  /** A command of any item. */
  | { readonly kind: 'command', readonly command: string }
  /** The list that a named query has for a value. */
  | { readonly kind: 'query', readonly field: string, readonly value: string }
  /** The feed of all families at the prefix, of one of them, or of one item. */
  | { readonly kind: 'feed', readonly isShared: boolean, readonly id?: Id | undefined }

/** A form, as browsers send it. */
export interface SentForm {
  /**
   * As typed, with line feeds as line ends. Without fields that were not changed, and without names that begin with
   * `_` and have a meaning for the built-in pages.
   */
  readonly entries: ReadonlyMap<string, string>
}
