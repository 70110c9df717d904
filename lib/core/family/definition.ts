import type { Static, TObject, TOptional, TProperties, TSchema } from '@sinclair/typebox'
import type { FamilyShape, Id } from '../storage/storage.js'
import type { AnyItems, Context, Facts, Lookups, Preparation } from './context.js'
import type { CreateDefinition, Initial, SentValue } from './creation.js'
import type { Labels, StateDefinition, Tone } from './presentation.js'
import type {
  AnyFamily, ChangedItems, ContextItems, FamilyTypes, IdOf, Inferred, IsAny, ItemAndOthers, ItemOf, MemberName,
  NewFamilies, NewIds, NewItems, OfferedItems, OtherItem, OtherItemList, OtherItems, References
} from './types.js'

/** Whether an item can be deleted, and what else changes then. */
export interface RemoveDefinition<
  Item, With = any, Referred = any, OwnId = Id, Items = ContextItems<{}, Item, With, Referred>
> {
  /** Whether the state of the item allows it, or why not. Default: always. It may throw a problem. */
  readonly allowed?: (
    item: Item, params: {} | undefined, context: Context<OfferedItems<Items, With, Referred>, {}>
  ) => boolean | string
  /** Other items that it needs and may change, in the same commit, as in an operation. */
  readonly with?: OtherItems<{}, Item, With, Referred, OwnId>
  /** Returns the other items after it; called if it is allowed. Pure. It may throw a problem. */
  readonly apply?: (
    item: Item, params: {}, context: Context<Items, {}>
  ) => { readonly others: ChangedItems<Items> } | undefined | void
  /**
   * Whether a deleted item can be restored. Default: unless there is `apply`, whose effect on others stays. A function
   * returns the other items after a restoration. Pure. It may throw a problem.
   *
   * @example
   * restore: (book, params, { items: { shelf } }) => ({ others: { shelf: { ...shelf, books: shelf.books + 1 } } })
   */
  readonly restore?: boolean | ((
    item: Item, params: {}, context: Context<Items, {}>
  ) => { readonly others: ChangedItems<Items> } | undefined | void)
}

/** Whether an item can get the values of an earlier revision. */
export interface RevertDefinition<Item> {
  /**
   * Whether the state of the item allows it, or why not. `items.was` is the item as it was at the revision; undefined
   * if it is only offered. It may throw a problem.
   */
  readonly allowed?: (
    item: Item, params: { readonly to: number } | undefined, context: Context<{ readonly was: Item | undefined }, {}>
  ) => boolean | string
}

/** The words of an operation in the URL forms, its parameters, and its appearance in pages. */
export interface OperationWords<ParamSchema extends TObject = TObject> {
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
  readonly params: ParamSchema
  /** Whether a page asks for confirmation, because a mistake does harm. */
  readonly danger?: boolean
  /** Whether it cannot be undone; a page warns, and asks for confirmation. */
  readonly final?: boolean
  /** The fields that it changes: the attribute form suggests the operation if one of them differs. */
  readonly changes?: readonly string[]
}

/**
 * The rules of an operation. `Items` are those of `with`, `Offered` those that `allowed` gets, `Creates` the families
 * of `creates`, and `After` is the item that `apply` returns.
 */
export interface OperationRules<
  Item, ParamSchema extends TObject, Items = AnyItems, Creates = any, Offered = Items, After = Item
> extends OperationWords<ParamSchema> {
  /**
   * Whether the state of the item allows it, or why not. Default: always. It may throw a problem.
   * It is called without params if the operation is only offered.
   */
  readonly allowed?: Inferred<ParamSchema, (
    item: Item, params: Static<ParamSchema> | undefined, context: Context<Offered, NewIds<Creates>>
  ) => boolean | string>
  /**
   * The parameters with which its form on a page starts; of lists, the rows. Default: the fields that parameters are
   * named and typed like. Only pages use it. Pure.
   *
   * @example
   * prefill: order => ({ goods: order.lines.map(({ product, quantity }) => ({ product, quantity })) })
   */
  readonly prefill?: Inferred<ParamSchema, (item: Item) => Prefilled<Static<ParamSchema>>>
  /**
   * Returns the item after it or, if others change or are created, `{ item, others, created }`. Pure: no I/O, no
   * clock, and no item is changed in place. It may throw a problem.
   */
  readonly apply: Inferred<ParamSchema, (
    item: Item, params: Static<ParamSchema>, context: Context<Items, NewIds<Creates>>
  ) => Returned<After, Items, Creates>>
}

/** Parameters of which any may be missing, also in the rows of lists. */
export type Prefilled<Params> = {
  readonly [P in keyof Params]?: Params[P] extends readonly (infer Row extends object)[] | undefined
    ? readonly Partial<Row>[] | undefined
    : Params[P] | undefined
}

// Without new items, an error of TypeScript need not mention them.
type Returned<Item, Items, Creates> = Item | (
  [keyof Creates] extends [never]
    ? { readonly item: Item, readonly others: ChangedItems<Items> }
    : ItemAndOthers<Item, ChangedItems<Items>, NewItems<Creates>>
)

/**
 * A business operation: its words in the URL forms, its parameters, and two pure functions. In every form, `apply`
 * returns the item after it; if nothing would change, it succeeds; otherwise `allowed` decides.
 */
export interface Operation<Item = unknown, ParamSchema extends TObject = TObject>
  extends OperationRules<Item, ParamSchema> {
  /**
   * Other items that it needs and may change, in the same commit. By name, as in `context.items`: the field that
   * refers to the item, its family and its id or, for a list of items, their family and the path of their ids.
   *
   * @example
   * with: { machine: 'machine', to: { family: 'accounts', id: params => params.to } }
   */
  readonly with?: Readonly<Record<string, string | OtherItem<Static<ParamSchema>, Item> | OtherItemList>>
  /**
   * Families of which it may create an item each or, in brackets, a list of them, in the same commit, by the names in
   * `created` of `apply`.
   *
   * @example
   * creates: { invoice: invoices, lines: [invoiceLines] }
   */
  readonly creates?: Readonly<Record<string, AnyFamily | readonly AnyFamily[]>>
}

/** Operations in a family: `Params`, `With` and `Creates` have those of each, by its name. */
export type Operations<Fields extends TProperties, Params extends OperationParams, With, Creates, Referred> = {
  readonly [K in keyof Params]:
  OperationIn<ItemOf<Fields>, Params[K], With[K & keyof With], Creates[K & keyof Creates], Referred>
} & {
  readonly [K in keyof With]: {
    readonly with?: OtherItems<Static<Params[K & keyof Params]>, ItemOf<Fields>, With[K], Referred, IdOf<Fields>>
  }
} & {
  readonly [K in keyof Creates]: { readonly creates?: NewFamilies<Creates[K]> }
}

type OperationIn<
  Item, ParamSchema extends TObject, With, Creates, Referred, After = Item,
  Items = ContextItems<Static<ParamSchema>, Item, With, Referred>
> = OperationRules<
  Item, ParamSchema, Items, Creates, OfferedItems<Items, With, Referred, Static<ParamSchema>>, After
>

/** Like `Operation`, but `apply` may add fields that the family will have. The family of a reference is unknown. */
export interface OpenOperation<Item, ParamSchema extends TObject, With = any, Creates = any>
  extends OperationIn<
    Item, ParamSchema, With, Creates, any, Opened<NoInfer<Item>>, ContextItems<Static<ParamSchema>, any, With, any>
  > {
  // Without `Item`, which would be inferred here, before the functions below define it.
  readonly with?: OtherItems<Static<ParamSchema>, any, With, any, Id>
  readonly creates?: NewFamilies<Creates>
}

type Opened<Item> = Item | (Item & { readonly [field: string]: unknown })

/** An operation for every item that has the fields of `Item`; it keeps the other fields. */
export interface DefinedOperation<Item, ParamSchema extends TObject> extends OperationWords<ParamSchema> {
  readonly with?: any
  readonly creates?: any
  allowed? (item: Item, params: Static<ParamSchema> | undefined, context: any): boolean | string
  apply<After extends Item> (
    item: After, params: Static<ParamSchema>, context: any
  ): After | { readonly item: After, readonly others: any }
}

/** A deletion has only this. */
export type NounOperation = Pick<Operation, 'name' | 'noun' | 'action' | 'summary' | 'danger' | 'final'>

/** A result of `GET /query/{result_name}/{parameter}`: the items whose field equals the parameter. */
export interface QueryDefinition<Field extends string = string> {
  readonly field: Field
}

/** The meaning of attributes that differ from the item's. */
export type AttributeReading =
  | { readonly operation: string, readonly params: Readonly<Record<string, unknown>> }
  | { readonly field: string, readonly detail: string }

/** Fields that a client may also change by writing them, and the operation for it. */
export interface AttributeForm<Item> {
  /** Every other field must be sent unchanged. */
  readonly fields: readonly (keyof Item & string)[]
  /** Called if one of the fields differs; returns the operation, or the field that is wrong. Pure. */
  read (wanted: Item, current: Item): AttributeReading
}

type OrderTerm<Fields extends TProperties> = `${'' | '-'}${MemberName<Fields>}`

/** Fields that a client may change directly, and the words of this operation if they differ from the defaults. */
export interface EditDefinition<Item, Field extends string = string>
  extends Partial<Pick<Operation<Item>, 'verb' | 'participle' | 'noun' | 'action' | 'allowed'>> {
  readonly fields: readonly Field[]
}

/** A text for a constraint of the database, with pointers such as `/from` to the members that it is about. */
export interface ConstraintText {
  readonly detail: string
  readonly pointers: readonly string[]
}

/** The fields that a client may send. */
export type FieldName<Fields> = Exclude<keyof Fields, 'id'> & string

/** The parameters of each operation of a family. */
export type OperationParams = Readonly<Record<string, TObject>>

/** The members that edit these fields: null removes an optional one. */
export type EditOf<Fields extends TProperties, Edited extends string> = {
  readonly [K in Edited & keyof Fields]?: SentValue<Fields[K]> | (Fields[K] extends TOptional<TSchema> ? null : never)
}

/** Those of a family with these types; of any family, any members. */
export type EditIn<Fields extends TProperties, Types extends FamilyTypes> =
  IsAny<Types['edited']> extends true ? object : EditOf<Fields, Types['edited'] & string>

/** `derive`: the value of each field, from the item without it. */
export type DerivedFields<Fields extends TProperties, Derived extends string> = {
  readonly [F in Derived]?: (item: Static<TObject<Fields>>) => DerivedValue<Static<TObject<Fields>>, F>
}

type DerivedValue<Item, Field> = Field extends keyof Item ? Item[Field] : never

/**
 * A family: its names and fields and, if it can be written, the fields that clients send, and operations.
 *
 * Field types become columns, filters and documentation: integers, numbers, strings, booleans, enumerations (unions of
 * string literals), dates and date-times (`Type.String({ format: 'date' })`). Anything else is stored as JSON and
 * cannot be filtered.
 */
export interface FamilyDefinition<
  Fields extends TProperties = TProperties,
  Params extends OperationParams = OperationParams,
  Edited extends string = string,
  Created extends string = string,
  Referred = any,
  With = any,
  Creates = any,
  CreatedWith = any,
  RemovedWith = any,
  Derived extends string = string,
  Sent extends TProperties = any,
  CreatedNew = any
> {
  /** The plural, as in the URL. */
  readonly name: string
  /** In problems, in commands (`{ "deal": … }`) and in pages. */
  readonly singular: string
  /** All fields, including `id`: `Type.Integer()` or `Type.String()`. */
  readonly fields: TObject<Fields>
  /**
   * The fields that a client sends at creation; with `id`, the client chooses the id. Without it, nothing can be
   * created or deleted.
   */
  readonly create?: readonly Created[] |
    CreateDefinition<Static<TObject<Fields>>, Created, CreatedWith, Referred, IdOf<Fields>, Sent, CreatedNew>
  /**
   * Whether items can be deleted, or under which rules. Default: if they can be created.
   *
   * @example
   * remove: { allowed: order => order.status === 'draft' || 'Only drafts can be deleted' }
   */
  readonly remove?: boolean | RemoveDefinition<ItemOf<Fields>, RemovedWith, Referred, IdOf<Fields>>
  /**
   * Adds the fields that no client sends to a new item; returns it or, if others change or are created,
   * `{ item, others, created }`. Pure.
   * If it throws a problem, nothing is created.
   */
  readonly initial?: Inferred<Fields, Initial<Fields, Created, Derived, CreatedWith, Referred, Sent, CreatedNew>>
  /**
   * Fields that are computed from the item whenever it is written, also as another item of an operation; no client
   * sends them. They are columns like others. In this order: each sees those before it. Pure.
   *
   * @example
   * derive: { total: order => order.lines.reduce((sum, line) => sum + line.quantity * line.price, 0) }
   */
  readonly derive?: Inferred<Fields, DerivedFields<Fields, Derived>>
  /**
   * Called before the decision on every creation and operation; rules get its result as `context.facts`. Unlike rules
   * it may be asynchronous, so it is not repeated if the item changes meanwhile. If it throws a problem, nothing is
   * done.
   *
   * @example
   * prepare: async ({ params }, { get }) => ({ rate: await get(rates, params.currency) })
   */
  prepare? (asked: Preparation<ItemOf<Fields>>, lookups: Lookups): Facts | Promise<Facts>
  readonly operations?: Operations<Fields, Params, With, Creates, Referred>
  /** The fields that a client may change directly, by an operation called `edit`. */
  readonly edit?: readonly Edited[] | EditDefinition<ItemOf<Fields>, Edited>
  /**
   * Adds the operation `revert`, which gives an item the values of an earlier revision. Default: false.
   *
   * @example
   * revert: { allowed: deal => deal.status === 'open' || 'Only open deals can be reverted' }
   */
  readonly revert?: boolean | RevertDefinition<ItemOf<Fields>>
  /** Fields that can also be changed by writing them, and the operation for it. */
  readonly attributes?: AttributeForm<ItemOf<Fields>>
  /**
   * The state of an item in a word, for pages and for the problem of an operation that is not allowed. Default: the
   * first of `states` whose filter holds.
   */
  readonly state?: (item: ItemOf<Fields>) => string
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
  readonly order?: readonly OrderTerm<Fields>[]
  /**
   * Fields, or rows of fields, that are often filtered or sorted, such as `['status', ['customer', 'createdAt']]`: each
   * gets an index. `order`, `unique` and `references` need none.
   */
  readonly indexes?: readonly (MemberName<Fields> | readonly MemberName<Fields>[])[]
  /**
   * Rows of fields whose values together are unique, such as `[['number']]`. An item without a value in one of them is
   * not compared. The storage enforces it, also for concurrent requests.
   */
  readonly unique?: readonly (readonly FieldName<Fields>[])[]
  /**
   * Fields that hold the id of an item of another family, by its plugin, or of this one, by its name. The other item
   * must exist, in the same storage, and cannot be deleted while it is referred to. Ids in lists and within fields are
   * named by their path.
   *
   * @example
   * references: { supplier: suppliers, 'lines.product': products }
   */
  readonly references?: References<Fields, Referred>
  /**
   * The fields and parameters that hold personal data, by their paths: `erase` removes their values from an item, its
   * log and what is kept with both.
   *
   * @example
   * personal: ['name', 'email', 'contacts.phone']
   */
  readonly personal?: readonly string[]
  /**
   * Texts for constraints of the database that refuse a change, by their names: a text, or a text and the members
   * that it is about. On SQLite, a trigger is named by its message.
   *
   * @example
   * constraints: { bookings_no_overlap: 'The machine is booked in these days already' }
   */
  readonly constraints?: Readonly<Record<string, string | ConstraintText>>
  /** The field that identifies an item in pages. Default: `name`, `title` or `label`, or the id. */
  readonly title?: MemberName<Fields>
  /** The columns of a list in pages, in this order. Default: a few short fields. */
  readonly list?: readonly MemberName<Fields>[]
  /** The text fields that `search=…` looks in. Default: that of `title`, unless it is the id. */
  readonly search?: readonly (keyof Fields & string)[]
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
  readonly queries?: Readonly<Record<string, QueryDefinition<MemberName<Fields>>>>
}

/** Members that an extension cannot have. */
export type FixedMember = 'name' | 'singular' | 'tables' | 'versioned'
