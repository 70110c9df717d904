import type { FastifyRequest, FastifySchema } from 'fastify'
import type { Book, Offer } from '../core/book/book.js'
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
  /** Those with which it was registered (`FamilyOptions`), and its `representations`. */
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
  /**
   * What the caller of a request may do at all, and the mount with the family as the caller sees it: itself, unless a
   * grant hides something. Throws the problem of `authorize` if that refuses everything.
   */
  seenBy (request: FastifyRequest): Promise<{ readonly offers: readonly Offer[], readonly mount: FamilyMount }>
  /** The forms of operations that it takes (`FormName`), the recommended one first. */
  readonly forms: readonly string[]
  /** The routes that it declared, for documents: one that families share is declared by the first. */
  readonly routes: readonly RouteModel[]
  /** The mount of a family that links and references of this one lead to; undefined if it is not mounted beside. */
  beside (family: string): FamilyMount | undefined
  /** The mounts at its prefix, itself among them, without versions that have ended. Complete in `onReady`. */
  neighbours (): readonly FamilyMount[]
  /** The URL of the home of the prefix; undefined if it has none. */
  homeUrl (request: FastifyRequest): string | undefined
  /** The URL of a request, without its query. */
  selfUrl (request: FastifyRequest): string
  /** How many items a page number may skip. */
  readonly maxSkipped: number
  /** The order, as in `sort`, that shows new items first; undefined if there is another order, or ids do not grow. */
  readonly newestFirst: string | undefined
  /** The name of an item's state, which may be one of those of the model; undefined if it is in none. */
  stateOf (item: Readonly<Record<string, unknown>>): string | undefined
  /** The time of decisions. */
  now (): Date
  /** Makes the id of a command, or the key of a form. */
  makeCommandId (): string
}

/** What a route leads to. */
export interface RouteTarget {
  readonly mount: FamilyMount
  /** As `authorize` has it, such as `HoldDeal`. */
  readonly action?: string
  /** Where the path has one of several words: that of the action. */
  readonly word?: string
}

/** What a route is for, and where it is: for documents. */
export interface RouteModel {
  /**
   * `entry` and `command` are the same path; `commands` takes many. An `operation` has its word in the path, an
   * `update` the item alone, an `action` the name of the action, without a version.
   */
  readonly kind:
    | 'home' | 'list' | 'item' | 'operations' | 'log' | 'entry' | 'feed' | 'deleted' | 'query'
    | 'create' | 'remove' | 'operation' | 'update' | 'command' | 'commands' | 'action'
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** After the prefix, such as `/rest/v1/deals/:id`. A `:word` is one of several. */
  readonly path: string
  /** Whether all families at the prefix share it. */
  readonly isShared: boolean
  /** The forms of operations that it takes; the body selects one. */
  readonly forms: readonly string[]
  /** The name of a query (`FamilyModel`). */
  readonly query?: string
  /** The families, or the actions, that it leads to. Complete in `onReady`. */
  readonly targets: readonly RouteTarget[]
  /** That of the Fastify route, for documents to fill in, in `onReady`. It validates nothing. */
  readonly schema: FastifySchema
}

/** What a read asks for. */
export type Aim =
  | { readonly kind: 'home' | 'list' }
  /** The deletions of items that have not come back. */
  | { readonly kind: 'deleted' }
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

/**
 * A form, as browsers send it. Names that begin with `_` may have a meaning: forms of the built-in pages have them, and
 * others can.
 */
export interface SentForm {
  /**
   * As typed, with line feeds as line ends. Without fields that equal their copies in the form (`_was.name`), and
   * without names that begin with `_` and have a meaning for the built-in pages.
   */
  readonly entries: ReadonlyMap<string, string>
  /** The revision that the form showed: `_revision`. The command is refused if there is a newer one. */
  readonly revision: string | undefined
  /** Under which it is run once: of `_key` and what was entered. */
  readonly key: string | undefined
  /** Whether to ask for a confirmation instead of acting: `_confirm`. */
  readonly asksFirst: boolean
  /** The zone of local times: `_zone`. */
  readonly zone: string | undefined
  /** The language of amounts: `_language`. Without it, they are as in JSON. */
  readonly language: string | undefined
  /** Everything, such as to send it again. */
  readonly sent: readonly (readonly [name: string, text: string])[]
}
