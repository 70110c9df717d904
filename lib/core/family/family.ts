import type { TObject, TSchema } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import type { FamilyShape, Field, Id, Order } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import type { Validator } from '../values/validate.js'
import type { AnyFamily, AttributeForm, Context, NounOperation, Operation, QueryDefinition } from './definition.js'
import { commandsShape } from './fields.js'
import type { Params } from './params.js'

/** An operation with its parameters ready to be read. */
export interface CompiledOperation {
  readonly operation: Operation<Members>
  readonly params: Params
  /** The other items that it needs. */
  readonly others: readonly CompiledOther[]
}

/** Another item that an operation needs, by its name in `with`. */
export interface CompiledOther {
  readonly name: string
  /** Undefined where it is the family that has the operation. */
  readonly family: Family | undefined
  id (params: Members): Id | undefined
}

/** How items are created and deleted. */
export interface Lifecycle {
  readonly createAction: string
  readonly deletion: { readonly operation: NounOperation, readonly params: Params }
  readonly params: Params
  /** The members that a new item has before the client's are put in. */
  readonly defaults: Members
  /** Completes a new item; may throw a problem. */
  readonly initial: ((item: Members, context: Context) => Members) | undefined
}

/** A definition, checked and compiled once for all its mounts. */
export interface Family {
  readonly name: string
  readonly singular: string
  /** What clients see of an item. */
  readonly schema: TObject
  readonly fields: readonly Field[]
  /** Without those that the service adds. */
  readonly ownFields: readonly Field[]
  readonly members: readonly string[]
  /** Whether an item, or a command in a log, can be so long that not many fit on a page. */
  readonly hasLongItems: boolean
  readonly hasLongCommands: boolean
  readonly shape: FamilyShape
  /** How pages show items: the field that identifies one for people, and the fields that a list shows. */
  readonly presentation: { readonly title: string, readonly list: readonly string[] }
  /** The order where a client asks for none; by id where it is empty. */
  readonly order: readonly Order[]
  /** The families that fields refer to, by the fields. */
  readonly references: ReadonlyMap<string, Family>
  readonly writable: boolean
  readonly versioned: boolean
  readonly lifecycle: Lifecycle | undefined
  /** By action. */
  readonly operations: ReadonlyMap<string, CompiledOperation>
  /** The operation that `edit` makes. */
  readonly edit: CompiledOperation | undefined
  readonly attributes: AttributeForm<Members> | undefined
  readonly queries: ReadonlyMap<string, QueryDefinition>
  readonly idKind: 'integer' | 'string'
  /** An id, without what the definition says of it. */
  readonly idSchema: TSchema
  readonly makeId: (() => Id) | undefined
  /** Checks the declared fields of an item. */
  readonly validate: Validator
  /** Reads the id from a path; undefined where no item can have it. */
  readId (text: string): Id | undefined
  /** The state of an item in a word. */
  readonly state: ((item: Members) => string) | undefined
}

export type { AnyFamily } from './definition.js'

// By plugin: the compiled families are internal.
const families = new WeakMap<object, Family>()

export function keepFamily (plugin: AnyFamily, family: Family): void {
  families.set(plugin, family)
}

/** The compiled family of a plugin. */
export function getFamily (plugin: AnyFamily): Family {
  const family = families.get(plugin)
  if (family === undefined) throw new errorCodes.FST_DEALBOOK_NO_FAMILY()
  return family
}

/** The same of any value; undefined where it is not the plugin of a family. */
export function findFamily (value: unknown): Family | undefined {
  return value instanceof Object ? families.get(value) : undefined
}

/** All that a storage keeps for a family: what it refers to, directly or through others, itself, and its log. */
export function listShapes (family: Family): readonly FamilyShape[] {
  const shapes = listWithReferred(family).map(({ shape }) => shape)
  return family.writable ? [...shapes, commandsShape] : shapes
}

function listWithReferred (family: Family): Family[] {
  const others = [...family.references.values()].filter(other => other !== family)
  return [...new Set([...others.flatMap(listWithReferred), family])]
}
