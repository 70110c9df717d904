import type { TObject, TSchema } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import type { Condition, FamilyShape, Field, Id, Order, StorageReads, Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import type { Validator } from '../values/validate.js'
import type {
  AttributeForm, Context, FamilyDefinition, NounOperation, Operation, QueryDefinition
} from './definition.js'
import { commandsShape } from './fields.js'
import type { Params } from './params.js'
import type { Presentation } from './presentation.js'
import type { AnyFamily } from './types.js'

export interface CompiledOperation {
  readonly operation: Operation<Members>
  readonly params: Params
  readonly others: readonly OtherDefinition[]
  readonly creates: readonly { readonly name: string, readonly family: Family }[]
}

export interface OtherDefinition {
  readonly name: string
  /** Undefined if it is the family that has the operation. */
  readonly family: Family | undefined
  /** The field that refers to it. */
  readonly field: string | undefined
  id (params: Members, item: Members): Id | undefined
}

export interface Deletion {
  readonly operation: NounOperation
  readonly params: Params
}

export interface Lifecycle {
  readonly createAction: string
  /** Undefined if items cannot be deleted. */
  readonly deletion: Deletion | undefined
  /** Whether the client chooses the id. */
  readonly takesId: boolean
  readonly params: Params
  /** The members of a new item before the client's are added. */
  readonly defaults: Members
  readonly initial: ((item: Members, context: Context) => unknown) | undefined
  readonly others: readonly OtherDefinition[]
}

export type Names = ReadonlyMap<string, string>

/** Other names of the same items: rules, the storage and the log have those of the base. */
export interface Renaming {
  readonly base: Family
  /** The name in the base. */
  toBase (name: string): string
  /** An item of the base, under the names here. Without members that only other versions have. */
  show<T extends Members> (item: T): T
  /** An item, under the names of the base. */
  parse (item: Stored): Stored
  parseConditions (conditions: readonly Condition[]): Condition[]
  /** The parameters of a command, which are fields only of a creation and an edit. */
  showParams (action: string | undefined, params: Members): Members
  parseParams (action: string | undefined, params: Members): Members
  /** The names that pointers have here: parameters that are not fields keep theirs. */
  listPointed (action: string | undefined): Names
  /** The items of the base in a storage, asked for and shown under the names here. */
  read (storage: StorageReads): StorageReads
}

/** A definition, checked and compiled once for all its mounts. */
export interface Family {
  readonly name: string
  readonly singular: string
  readonly schema: TObject
  /** Those that clients read. */
  readonly fields: readonly Field[]
  /** Without those that the service adds. */
  readonly ownFields: readonly Field[]
  readonly hasDecimals: boolean
  /** Whether it has fields that clients never read. */
  readonly hasSecrets: boolean
  readonly members: readonly string[]
  /** Whether an item, or a command in a log, can be so long that few fit on a page. */
  readonly hasLongItems: boolean
  readonly hasLongCommands: boolean
  readonly shape: FamilyShape
  /** The end of entity tags, which changes with the fields; empty if `tagByRevision` marks them. */
  readonly tag: string
  /** Its appearance in pages. */
  readonly presentation: Presentation
  /** The default order; by id if it is empty. */
  readonly order: readonly Order[]
  readonly references: ReadonlyMap<string, Family>
  readonly prepare: FamilyDefinition['prepare']
  readonly writable: boolean
  readonly versioned: boolean
  readonly lifecycle: Lifecycle | undefined
  /** By action. */
  readonly operations: ReadonlyMap<string, CompiledOperation>
  readonly edit: CompiledOperation | undefined
  readonly attributes: AttributeForm<Members> | undefined
  readonly queries: ReadonlyMap<string, QueryDefinition>
  readonly idKind: 'integer' | 'string'
  /** An id, without the constraints of the definition. */
  readonly idSchema: TSchema
  readonly makeId: (() => Id) | undefined
  readonly validate: Validator
  /** Undefined if no item can have the id. */
  readId (text: string): Id | undefined
  readonly state: ((item: Members) => string | undefined) | undefined
  readonly constraints: NonNullable<FamilyDefinition['constraints']>
  /** What it needs besides its own. */
  readonly tables: readonly FamilyShape[]
  /** Undefined unless `rename` made it. */
  readonly renaming: Renaming | undefined
}

export type { AnyFamily } from './types.js'

// Not a member of the plugin: compiled families are internal.
const plugins = new WeakMap<object, Family>()

export function keepFamily (plugin: AnyFamily, family: Family): void {
  plugins.set(plugin, family)
}

export function getFamily (plugin: AnyFamily): Family {
  const family = findFamily(plugin)
  if (family === undefined) throw new errorCodes.FST_DEALBOOK_NO_FAMILY()
  return family
}

/** Undefined if the value is not the plugin of a family. */
export function findFamily (value: unknown): Family | undefined {
  return plugins.get(value as object)
}

/**
 * Everything that a storage keeps for a family: the families it refers to, also indirectly, itself, its other tables,
 * and the log.
 */
export function listShapes (family: Family): readonly FamilyShape[] {
  const shapes = [...listWithReferred(family).map(each => getBase(each).shape), ...family.tables]
  return family.writable ? [...shapes, commandsShape] : shapes
}

/**
 * What a storage gets of a family, such as for a table of its kind with a different name.
 *
 * @example
 * const table = { ...shapeOf(deliveries), name: 'webhook-deliveries' }
 */
export function shapeOf (family: AnyFamily): FamilyShape {
  return getBase(getFamily(family)).shape
}

/** The family under the names that rules, the storage and the log have. */
export function getBase (family: Family): Family {
  return family.renaming?.base ?? family
}

/** Whether a version has all fields of the family that rules are written for. */
export function hasFieldsOf (version: Family, declared: Family): boolean {
  const { schema } = getBase(version)
  return declared.ownFields.every(({ name }) => Object.hasOwn(schema.properties, name))
}

/** With those that its operations and its creation use. */
export function listRelated (family: Family): Family[] {
  const all = [...family.operations.values()].flatMap(({ others, creates }) => [...others, ...creates])
  const others = [...all, ...family.lifecycle?.others ?? []].flatMap(({ family }) => family ?? [])
  return [...new Set([family, ...others])]
}

function listWithReferred (family: Family): Family[] {
  const others = [...family.references.values()].filter(other => other !== family)
  return [...new Set([...others.flatMap(listWithReferred), family])]
}
