import { type Static, type TObject, type TOptional, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import type { ItemPage, PageOptions } from '../query/grammar.js'
import type { Condition, FamilyShape, Id } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import type { Labels, StateDefinition, Tone } from './presentation.js'
import type {
  AnyFamily, ChangedItems, ContextItems, FamilyTypes, IdOf, Inferred, IsAny, ItemIn, ItemOf, ItemsAtCreation,
  MemberName, NewFamilies, NewIds, NewItems, OfferedItems, OtherItem, OtherItems, References
} from './types.js'

type AnyItems = Readonly<Record<string, Members | undefined>>

/** The context of rules, besides the item and its parameters; `X` are the types of `items`, `Y` those of `newIds`. */
export interface Context<X = AnyItems, Y = any> {
  /** The moment of the decision, `YYYY-MM-DDTHH:mm:ss.sssZ`. */
  readonly now: string
  /** The id of the command; empty if the operation is only offered. */
  readonly command: string
  /** The name of the caller, from `authorize` or the call of the service. */
  readonly principal: string | undefined
  /** The `claims` that `authorize` returned, or an empty object. */
  // Of any type, so that a host can use its own names under every compiler option.
  readonly claims: any
  /** The other items that `with` names; undefined if there is none. If it is only offered: those of fields. */
  readonly items: X
  /** The ids of the items that `creates` names, if they are created. */
  readonly newIds: Y
  /** The result of `prepare`, or an empty object, such as if the operation is only offered. Of any type, too. */
  readonly facts: any
}

/** The first argument of `prepare`. */
export interface Preparation<I> {
  /** The action of the command, such as `CreateBooking`. */
  readonly action: string
  /** The item before the command; it may change before the decision. Undefined for a creation. */
  readonly item: I | undefined
  // Of any type, since every operation has its own.
  readonly params: any
  readonly context: Context
}

/** The result of `prepare`: an object, or nothing. */
export type Facts = object | undefined | void

/** Reads for `prepare`: any family by its plugin, or this one by name. Only items that the caller may read exist. */
export interface Lookups {
  get<F extends AnyFamily | string> (family: F, id: Id): Promise<ItemIn<F> | undefined>
  /** By a query string, or by conditions that all must hold. */
  find<F extends AnyFamily | string> (
    family: F,
    query?: string | readonly Condition[],
    options?: PageOptions
  ): Promise<ItemPage<ItemIn<F>>>
}

/** Items by their names in `with` or `creates`; undefined ones stay unchanged, or are not created. */
export type MadeItems = Readonly<Record<string, object | undefined>>

/** The result of `apply` and `initial` if they change others (by names in `with`) or create some (`creates`). */
export type ItemAndOthers<I, X = MadeItems, C = MadeItems> =
  | { readonly item: I, readonly others: X, readonly created?: C }
  | { readonly item: I, readonly created: C, readonly others?: X }

/** The fields that a client sends at creation, and other items that `initial` needs. */
export interface CreateDefinition<I, F extends string = string, W = any, V = any, D = Id> {
  readonly fields: readonly F[]
  /** As in an operation; a field names the item that it refers to. `id` gets the fields that were sent. */
  readonly with?: OtherItems<Partial<I>, Partial<I>, W, V, D>
}

/** The words of an operation in the URL forms, its parameters, and its appearance in pages. */
export interface OperationWords<T extends TObject = TObject> {
  /** In problems, which list what is allowed. */
  readonly name: string
  /** `PUT …/{id}/hold` */
  readonly verb: string
  /** `PUT …/{id}/holded` */
  readonly participle: string
  /** `POST …/{id}/holds` */
  readonly noun: string
  /** `{ "action": "HoldDeal" }` and `POST /command/HoldDeal/` */
  readonly action: string
  /** One line for the documentation. */
  readonly summary?: string
  /** Unknown ones are refused. */
  readonly params: T
  /** Whether a page asks for confirmation, because a mistake does harm. */
  readonly danger?: boolean
  /** Whether it cannot be undone; a page warns, and asks for confirmation. */
  readonly final?: boolean
  /** The fields that it changes: the attribute form suggests the operation if one of them differs. */
  readonly changes?: readonly string[]
}

/**
 * The rules of an operation. `X` are the items of `with`, `A` those that `allowed` gets, `N` the families of `creates`,
 * `J` the item that `apply` returns.
 */
export interface OperationRules<I, T extends TObject, X = AnyItems, N = any, A = X, J = I> extends OperationWords<T> {
  /**
   * Whether the state of the item allows it, or why not. Default: always. It may throw a problem.
   * It is called without params if the operation is only offered.
   */
  readonly allowed?: Inferred<T, (item: I, params: Static<T> | undefined, context: Context<A, NewIds<N>>) =>
    boolean | string>
  /**
   * Returns the item after it or, if others change or are created, `{ item, others, created }`. Pure: no I/O, no
   * clock, and no item is changed in place. It may throw a problem.
   */
  readonly apply: Inferred<T, (item: I, params: Static<T>, context: Context<X, NewIds<N>>) =>
  Returned<J, X, N>>
}

// Without new items, an error of TypeScript need not mention them.
type Returned<I, X, N> = I | (
  [keyof N] extends [never]
    ? { readonly item: I, readonly others: ChangedItems<X> }
    : ItemAndOthers<I, ChangedItems<X>, NewItems<N>>
)

/**
 * A business operation: its words in the URL forms, its parameters, and two pure functions. In every form, `apply`
 * returns the item after it; if nothing would change, it succeeds; otherwise `allowed` decides.
 */
export interface Operation<I = unknown, T extends TObject = TObject> extends OperationRules<I, T> {
  /**
   * Other items that it needs and may change, in the same commit. By name, as in `context.items`: the field that
   * refers to the item, or its family and its id.
   *
   * @example
   * with: { machine: 'machine', to: { family: 'accounts', id: params => params.to } }
   */
  readonly with?: Readonly<Record<string, string | OtherItem<Static<T>, I>>>
  /** Families of which it may create an item each, in the same commit, by the names in `created` of `apply`. */
  readonly creates?: Readonly<Record<string, AnyFamily>>
}

/** Operations in a family: by their names, `O` has the parameters, `W` what `with` names, `N` what `creates` names. */
export type Operations<P extends TProperties, O extends OperationParams, W, N, V> = {
  readonly [K in keyof O]: OperationIn<ItemOf<P>, O[K], W[K & keyof W], N[K & keyof N], V>
} & {
  readonly [K in keyof W]: { readonly with?: OtherItems<Static<O[K & keyof O]>, ItemOf<P>, W[K], V, IdOf<P>> }
} & {
  readonly [K in keyof N]: { readonly creates?: NewFamilies<N[K]> }
}

type OperationIn<I, T extends TObject, W, N, V, J = I, X = ContextItems<Static<T>, I, W, V>> =
  OperationRules<I, T, X, N, OfferedItems<X, W, V>, J>

/** Like `Operation`, but `apply` may add fields that the family will have. The family of a reference is unknown. */
export interface OpenOperation<I, T extends TObject, W = any, N = any>
  extends OperationIn<I, T, W, N, any, Opened<NoInfer<I>>, ContextItems<Static<T>, any, W, any>> {
  // Without `I`, which would be inferred here, before the functions below define it.
  readonly with?: OtherItems<Static<T>, any, W, any, Id>
  readonly creates?: NewFamilies<N>
}

type Opened<I> = I | (I & { readonly [field: string]: unknown })

/** An operation for every item that has the fields of `I`; it keeps the other fields. */
export interface DefinedOperation<I, T extends TObject> extends OperationWords<T> {
  readonly with?: any
  readonly creates?: any
  allowed? (item: I, params: Static<T> | undefined, context: any): boolean | string
  apply<J extends I> (item: J, params: Static<T>, context: any): J | { readonly item: J, readonly others: any }
}

/** line-item -> CreateLineItem */
export function nameAction (verb: string, singular: string): string {
  return verb + singular.replace(/(^|-)([a-z0-9])/g, (_, _hyphen, letter: string) => letter.toUpperCase())
}

/** A deletion has only this. */
export type NounOperation = Pick<Operation, 'name' | 'noun' | 'action' | 'summary' | 'danger' | 'final'>

/** A result of `GET /query/{result_name}/{parameter}`: the items whose field equals the parameter. */
export interface QueryDefinition<F extends string = string> {
  readonly field: F
}

/** The meaning of attributes that differ from the item's. */
export type AttributeReading =
  | { readonly operation: string, readonly params: Readonly<Record<string, unknown>> }
  | { readonly field: string, readonly detail: string }

/** Fields that a client may also change by writing them, and the operation for it. */
export interface AttributeForm<I> {
  /** Every other field must be sent unchanged. */
  readonly fields: readonly (keyof I & string)[]
  /** Called if one of the fields differs; returns the operation, or the field that is wrong. Pure. */
  read (wanted: I, current: I): AttributeReading
}

type OrderTerm<P extends TProperties> = `${'' | '-'}${MemberName<P>}`

/** Fields that a client may change directly, and the words of this operation if they differ from the defaults. */
export interface EditDefinition<I, F extends string = string>
  extends Partial<Pick<Operation<I>, 'verb' | 'participle' | 'noun' | 'action' | 'allowed'>> {
  readonly fields: readonly F[]
}

/** A text for a constraint of the database, with pointers such as `/from` to the members that it is about. */
export interface ConstraintText {
  readonly detail: string
  readonly pointers: readonly string[]
}

/** The fields that a client may send. */
export type FieldName<P> = Exclude<keyof P, 'id'> & string

/** The members of `P` under the names that `rename` gives them. */
export type Renamed<P, N> = {
  [K in keyof P as RenamedName<K, N>]: P[K]
}

/** Each of the names `K`. */
export type RenamedName<K, N> = K extends keyof N ? N[K] extends string ? N[K] : K : K

/** The parameters of each operation of a family. */
export type OperationParams = Readonly<Record<string, TObject>>

/** The members that create an item with these fields; those with a default may be omitted. */
export type CreateOf<P extends TProperties, C extends string> =
  Static<TObject<Pick<P, Exclude<C & keyof P, Defaulted<P>>>>> & Partial<Static<TObject<Pick<P, C & Defaulted<P>>>>>

type Defaulted<P> = { [K in keyof P]: P[K] extends { readonly default: unknown } ? K : never }[keyof P]

/** The members that edit these fields: null removes an optional one. */
export type EditOf<P extends TProperties, F extends string> = {
  readonly [K in F & keyof P]?: Static<P[K]> | (P[K] extends TOptional<TSchema> ? null : never)
}

/** Those of a family with these types; of any family, any members. */
export type CreateIn<P extends TProperties, M extends FamilyTypes> =
  IsAny<M['created']> extends true ? any : CreateOf<P, M['created'] & string>
export type EditIn<P extends TProperties, M extends FamilyTypes> =
  IsAny<M['edited']> extends true ? object : EditOf<P, M['edited'] & string>

type Initial<I, X> = (item: I, context: Context<X, {}>) =>
  I | { readonly item: I, readonly others: ChangedItems<X> }

/**
 * A family: its names and fields and, if it can be written, the fields that clients send, and operations.
 *
 * Field types become columns, filters and documentation: integers, numbers, strings, booleans, enumerations (unions of
 * string literals), dates and date-times (`Type.String({ format: 'date' })`). Anything else is stored as JSON and
 * cannot be filtered.
 */
export interface FamilyDefinition<
  P extends TProperties = TProperties,
  O extends OperationParams = OperationParams,
  F extends string = string,
  C extends string = string,
  V = any,
  W = any,
  N = any,
  D = any
> {
  /** The plural, as in the URL. */
  readonly name: string
  /** In problems, in commands (`{ "deal": … }`) and in pages. */
  readonly singular: string
  /** All fields, including `id`: `Type.Integer()` or `Type.String()`. */
  readonly fields: TObject<P>
  /**
   * The fields that a client sends at creation; with `id`, the client chooses the id. Without it, nothing can be
   * created or deleted.
   */
  readonly create?: readonly C[] | CreateDefinition<Static<TObject<P>>, C, D, V, IdOf<P>>
  /** Whether items can be deleted. Default: if they can be created. */
  readonly remove?: boolean
  /**
   * Adds the fields that no client sends to a new item; returns it or, if others change too, `{ item, others }`. Pure.
   * If it throws a problem, nothing is created.
   */
  readonly initial?: Inferred<P, Initial<Static<TObject<P>>, ItemsAtCreation<P, D, V>>>
  /**
   * Called before the decision on every creation and operation; rules get its result as `context.facts`. Unlike rules
   * it may be asynchronous, so it is not repeated if the item changes meanwhile. If it throws a problem, nothing is
   * done.
   *
   * @example
   * prepare: async ({ params }, { get }) => ({ rate: await get(rates, params.currency) })
   */
  prepare? (asked: Preparation<ItemOf<P>>, lookups: Lookups): Facts | Promise<Facts>
  readonly operations?: Operations<P, O, W, N, V>
  /** The fields that a client may change directly, by an operation called `edit`. */
  readonly edit?: readonly F[] | EditDefinition<ItemOf<P>, F>
  /** Fields that can also be changed by writing them, and the operation for it. */
  readonly attributes?: AttributeForm<ItemOf<P>>
  /**
   * The state of an item in a word, for pages and for the problem of an operation that is not allowed. Default: the
   * first of `states` whose filter holds.
   */
  readonly state?: (item: ItemOf<P>) => string
  /**
   * The states of items in the order of pages, each with its tone and which items are in it: clients filter by
   * `state=held`. Default: the values of a required field that has a choice of them.
   *
   * @example
   * states: { open: 'neutral', late: { tone: 'warning', filter: 'status=open&reminders>0' }, paid: 'done' }
   */
  readonly states?: Readonly<Record<string, Tone | StateDefinition>>
  /** Makes the id of a new item. Default: a UUID of version 7, or the next integer. */
  readonly makeId?: () => Id
  /** The default order of a list, such as `['-createdAt']`: `-` is descending. The id breaks ties. Default: by id. */
  readonly order?: readonly OrderTerm<P>[]
  /**
   * Fields, or rows of fields, that are often filtered or sorted, such as `['status', ['customer', 'createdAt']]`: each
   * gets an index. `order`, `unique` and `references` need none.
   */
  readonly indexes?: readonly (MemberName<P> | readonly MemberName<P>[])[]
  /**
   * Rows of fields whose values together are unique, such as `[['number']]`. An item without a value in one of them is
   * not compared. The storage enforces it, also for concurrent requests.
   */
  readonly unique?: readonly (readonly FieldName<P>[])[]
  /**
   * Fields that hold the id of an item of another family, by its plugin, or of this one, by its name. The other item
   * must exist, in the same storage, and cannot be deleted while it is referred to.
   */
  readonly references?: References<P, V>
  /**
   * Texts for constraints of the database that refuse a change, by their names: a text, or a text and the members
   * that it is about. On SQLite, a trigger is named by its message.
   *
   * @example
   * constraints: { bookings_no_overlap: 'The machine is booked in these days already' }
   */
  readonly constraints?: Readonly<Record<string, string | ConstraintText>>
  /** The field that identifies an item in pages. Default: `name`, `title` or `label`, or the id. */
  readonly title?: MemberName<P>
  /** The columns of a list in pages, in this order. Default: a few short fields. */
  readonly list?: readonly MemberName<P>[]
  /** The text fields that `search=…` looks in. Default: that of `title`, unless it is the id. */
  readonly search?: readonly (keyof P & string)[]
  /**
   * Labels of the family and its parts in pages, by language.
   *
   * @example
   * labels: { de: { plural: 'Aufträge', singular: 'Auftrag', create: 'Neuer Auftrag', fields: { price: 'Preis' } } }
   */
  readonly labels?: Readonly<Record<string, Labels>>
  /**
   * More tables that it needs, such as for what `onMount` starts: they are prepared with its own, and in the SQL of
   * `writeMigration`. `copyStorage` does not copy them.
   */
  readonly tables?: readonly FamilyShape[]
  /** Whether a mount must name a version. */
  readonly versioned?: boolean
  /** Results of `/query/`, by name. The items by id are always included, under the family's name. */
  readonly queries?: Readonly<Record<string, QueryDefinition<MemberName<P>>>>
}

/** Members that an extension cannot have. */
export type FixedMember = 'name' | 'singular' | 'tables' | 'versioned'

export function listOperations (definition: FamilyDefinition): Readonly<Record<string, Operation<Members>>> {
  const { edit, operations = {} } = definition
  const declared = operations as unknown as Record<string, Operation<Members>>
  return edit === undefined ? declared : { ...declared, edit: makeEdit(definition, readEdit(edit)) }
}

export function readCreate ({ create = [] }: Pick<FamilyDefinition, 'create'>): CreateDefinition<unknown> {
  return 'fields' in create ? create as CreateDefinition<unknown> : { fields: create }
}

export function readEdit (edit: NonNullable<FamilyDefinition['edit']>): EditDefinition<unknown> {
  return 'fields' in edit ? edit as EditDefinition<unknown> : { fields: edit }
}

function makeEdit (
  { singular, fields: { properties, required = [] } }: FamilyDefinition,
  { fields: names, ...given }: EditDefinition<unknown>
): Operation<Members> {
  const optional = names.filter(name => !required.includes(name))
  const params = names.map(name => {
    // Without its default, since omitted fields stay unchanged; null removes an optional one.
    const { default: _, ...schema } = properties[name] as TSchema
    return [name, Type.Optional(optional.includes(name) ? addNull(schema as TSchema) : schema as TSchema)]
  })
  return {
    name: 'edit',
    verb: 'edit',
    participle: 'edited',
    noun: 'edits',
    action: nameAction('Edit', singular),
    summary: `Edit the ${singular}`,
    ...given,
    params: Type.Object(Object.fromEntries(params)),
    changes: names,
    apply (item, params) {
      const edited: Record<string, unknown> = { ...item, ...params }
      for (const name of optional) if (edited[name] === null) delete edited[name]
      return edited
    }
  }
}

function addNull (schema: TSchema): TSchema {
  return schema.anyOf === undefined
    ? Type.Union([schema, Type.Null()])
    : { ...schema, anyOf: [...schema.anyOf, Type.Null()] }
}
