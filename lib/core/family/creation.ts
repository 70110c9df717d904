import type { Static, TArray, TObject, TOptional, TProperties, TSchema } from '@sinclair/typebox'
import type { Id } from '../storage/storage.js'
import type { Context } from './context.js'
import type {
  ChangedItems, FamilyTypes, IsAny, ItemAndOthers, ItemsAtCreation, NewFamilies, NewIds, NewItems, OtherItems
} from './types.js'

// The types of a creation: what clients send, and what `initial` gets and returns.

type SentMembers<Item, Field, Sent extends TProperties> =
  Partial<Item> & Pick<Item, Field & keyof Item> & Static<TObject<Sent>>

/** The fields that a client sends at creation, and other items that `initial` needs or creates. */
export interface CreateDefinition<
  Item, Field extends string = string, With = any, Referred = any, OwnId = Id, Sent extends TProperties = any,
  Creates = any
> {
  readonly fields: readonly Field[]
  /**
   * What a client sends besides, such as the lines of an order that are a family of their own. No fields: `initial`
   * gets them as its third argument.
   */
  readonly params?: TObject<Sent>
  /** As in an operation; a field names the item that it refers to. `id` gets what was sent. */
  readonly with?: OtherItems<
    SentMembers<Item, Field, NoInfer<Sent>>, SentMembers<Item, Field, NoInfer<Sent>>, With, Referred, OwnId
  >
  /** As in an operation. */
  readonly creates?: NewFamilies<Creates>
}

/** The members that create an item with these fields; those with a default may be omitted. */
export type CreateOf<Fields extends TProperties, Created extends string> =
  SentOf<Pick<Fields, Exclude<Created & keyof Fields, Defaulted<Fields>>>> &
  Partial<SentOf<Pick<Fields, Created & Defaulted<Fields>>>>

/** Members of a body: inside lists and objects, those with a default may be omitted. */
// Without such members a plain type, which errors of TypeScript show whole.
export type SentOf<Members extends TProperties> = [WithinDefaults<Members>] extends [never]
  ? Static<TObject<Members>>
  : { [K in Exclude<keyof Members, Omittable<Members>>]: SentValue<Members[K]> } &
    { [K in Omittable<Members>]?: SentValue<Members[K]> }

/** Not never if a default is inside a list or an object. */
type WithinDefaults<Members> = { [K in keyof Members]: InnerDefaults<Members[K]> }[keyof Members]

type InnerDefaults<Schema> = Schema extends TArray<infer Each> ? InnerDefaults<Each>
  : Schema extends TObject<infer Members> ? Defaulted<Members> | WithinDefaults<Members> : never

/** The type of a value that a client sends. */
export type SentValue<Schema extends TSchema> =
  Schema extends TArray<infer Each extends TSchema> ? SentValue<Each>[]
    : Schema extends TObject<infer Members extends TProperties> ? SentObject<Members> : Static<Schema>

type SentObject<Members extends TProperties> =
  SentOf<Omit<Members, Defaulted<Members>>> & Partial<SentOf<Pick<Members, Defaulted<Members>>>>

type Omittable<Members> = {
  [K in keyof Members]: Members[K] extends TOptional<TSchema> ? K : never
}[keyof Members]

type Defaulted<Fields> = {
  [K in keyof Fields]: Fields[K] extends { readonly default: unknown } ? K : never
}[keyof Fields]

/** Those of a family with these types; of any family, any members. */
export type CreateIn<Fields extends TProperties, Types extends FamilyTypes> =
  IsAny<Types['created']> extends true ? any : CreateOf<Fields, Types['created'] & string> & SentIn<Types['sent']>

type SentIn<Sent> = Sent extends TProperties ? [keyof Sent] extends [never] ? unknown : Static<TObject<Sent>> : unknown

// Of the fields themselves: types of items in its arguments would be made for families without it too.
export type Initial<
  Fields extends TProperties, Created, Derived, With, Referred, Sent extends TProperties, Creates
> = (
  item: BeforeInitial<Fields, Created>,
  context: Context<ItemsAtCreation<Fields, With, Referred, Sent>, NewIds<Creates>>,
  params: Static<TObject<Sent>>
) => AfterInitial<Fields, Derived> | InitialResult<
  AfterInitial<Fields, Derived>, ItemsAtCreation<Fields, With, Referred, Sent>, Creates
>

// Without new items, an error of TypeScript need not mention them.
type InitialResult<Item, Items, Creates> = [keyof Creates] extends [never]
  ? { readonly item: Item, readonly others: ChangedItems<Items> }
  : ItemAndOthers<Item, ChangedItems<Items>, NewItems<Creates>>

/** What `initial` gets: fields that no client sends are optional, unless they have a default or may be null. */
export type BeforeInitial<Fields extends TProperties, Created> = Static<TObject<{
  [K in keyof Fields]: K extends 'id' | Created
    ? Fields[K]
    : Fields[K] extends { readonly default: unknown } ? Fields[K] : NullOrOptional<Fields[K]>
}>>

type NullOrOptional<Field extends TSchema> = null extends Static<Field> ? Field : TOptional<Field>

/** What `initial` returns: fields of `derive` are computed after it. */
export type AfterInitial<Fields extends TProperties, Derived> = [Derived] extends [never]
  ? Static<TObject<Fields>>
  : Static<TObject<{ [K in keyof Fields]: K extends Derived ? TOptional<Fields[K]> : Fields[K] }>>
