import type { TObject, TSchema } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import type { Condition, FamilyShape, Field, Id, Order, StorageReads, Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import type { PathValue } from '../values/paths.js'
import type { Validator } from '../values/validate.js'
import type { FieldChanges } from './changes.js'
import type { Context } from './context.js'
import type {
  AttributeForm, FamilyDefinition, NounOperation, Operation, QueryDefinition, RemoveDefinition
} from './definition.js'
import { commandsShape } from './fields.js'
import type { HiddenNames } from './hidden-names.js'
import type { NameTree } from './name-tree.js'
import type { Conversions } from './nested.js'
import type { Params } from './params.js'
import type { Presentation } from './presentation.js'
import type { AnyFamily } from './types.js'

export interface CompiledOperation {
  readonly operation: Operation<Members>
  readonly params: Params
  readonly others: readonly OtherDefinition[]
  readonly creates: readonly NewDefinition[]
  /** Of one that needs an item as it was: before it was deleted, or at an earlier revision. */
  readonly past: 'restore' | 'revert' | undefined
}

/** Another item, or a list of them, that a change needs. */
export interface OtherDefinition {
  readonly name: string
  /** Undefined if it is the family that has the operation. */
  readonly family: Family | undefined
  readonly isList: boolean
  /** The field that refers to it, or the path in the item to the ids of a list. */
  readonly field: string | undefined
  /** The path in the parameters to the ids of a list. */
  readonly parameter: string | undefined
  /** Whether the ids depend on the item. */
  readonly needsItem: boolean
  /** The ids, which may be invalid and repeated, and where they are. */
  find (params: Members, item: Members): readonly PathValue[]
}

/** An item, or a list of them, that a change may create. */
export interface NewDefinition {
  readonly name: string
  readonly family: Family
  readonly isList: boolean
}

/** The deletion of an item: it has only a noun, and its rules. */
export interface Deletion {
  readonly operation: NounOperation & Pick<Operation<Members>, 'allowed'> & {
    readonly apply?: RemoveDefinition<Members>['apply']
  }
  readonly params: Params
  readonly others: readonly OtherDefinition[]
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
  /** Of the parameters, those that are no fields. */
  readonly extra: readonly string[]
  readonly initial: ((item: Members, context: Context, params: Members) => unknown) | undefined
  readonly others: readonly OtherDefinition[]
  readonly creates: readonly NewDefinition[]
}

/** Other names of the same items: rules, the storage and the log have those of the base. */
export interface Renaming {
  readonly base: Family
  /** The names here, by those in the base, also those within fields. */
  readonly tree: NameTree
  /** The name in the base. */
  toBase (name: string): string
  /** An item of the base, under the names here. Without members that only other versions have. */
  show<T extends Members> (item: T): T
  /** An item, under the names of the base. */
  parse (item: Stored): Stored
  parseConditions (conditions: readonly Condition[]): Condition[]
  /** Fields and paths, under the names of the base. */
  parsePaths (paths: readonly string[]): string[]
  showPaths (paths: readonly string[]): string[]
  /** The parameters of a command, which are fields only of a creation and an edit. */
  showParams (action: string | undefined, params: Members): Members
  parseParams (action: string | undefined, params: Members): Members
  /** What changed of an item, by field. */
  showChanges (changes: FieldChanges): FieldChanges
  /** The names that pointers have here: parameters that are not fields keep theirs. */
  listPointed (action: string | undefined): NameTree
  /** The items of the base in a storage, asked for and shown under the names here. */
  read (storage: StorageReads): StorageReads
}

/** What a caller does not see of a family. */
export interface Hiding {
  /** The family with all of its fields. */
  readonly whole: Family
  /** Fields and paths, sorted, and `principal`. */
  readonly paths: readonly string[]
  readonly names: HiddenNames
  readonly hidesFields: boolean
  /** Whether it is hidden who sent the commands of a log. */
  readonly hidesPrincipal: boolean
  /** The actions that need a value for something hidden: this caller cannot run them. */
  readonly unavailable: ReadonlySet<string>
  /** The states that depend on something hidden. */
  readonly states: ReadonlySet<string>
  /** Members of an item, as a client may send them back. */
  readonly item: Params
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
  /** For what is in its lists and objects. */
  readonly nested: Conversions
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
  /** By the fields that hold an id. */
  readonly references: ReadonlyMap<string, Family>
  /** By the paths of ids in fields with nested values, such as `lines.product`. */
  readonly pathReferences: ReadonlyMap<string, Family>
  /** By the fields that they compute. */
  readonly derived: ReadonlyMap<string, (item: Members) => unknown>
  /** The paths of fields and parameters that hold personal data. */
  readonly personal: ReadonlySet<string>
  readonly prepare: FamilyDefinition['prepare']
  readonly writable: boolean
  readonly versioned: boolean
  readonly lifecycle: Lifecycle | undefined
  /** By action. */
  readonly operations: ReadonlyMap<string, CompiledOperation>
  /** By action: the operations, and the deletion. */
  readonly changes: ReadonlyMap<string, CompiledChange>
  /** The actions that need or create other items. */
  readonly withOthers: ReadonlySet<string>
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
  /** Set if it lacks what a grant hides. */
  readonly hiding?: Hiding
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

/** What changes an existing item. */
export type CompiledChange = CompiledOperation | Deletion

/** What an operation needs of the past of an item. */
export function findPast ({ operations }: Family, action: string | undefined): CompiledOperation['past'] {
  return action === undefined ? undefined : operations.get(action)?.past
}

interface Needed {
  readonly name: string
  readonly families: readonly Family[]
}

/** The families that each operation, the creation and the deletion need besides their own. */
export function listNeeded ({ operations, lifecycle }: Family): Needed[] {
  const all = [
    ...operations.values(),
    ...lifecycle === undefined ? [] : [{ operation: { name: 'create' }, ...lifecycle }],
    ...lifecycle?.deletion === undefined ? [] : [lifecycle.deletion]
  ]
  return all.map(each => {
    const needed = [...each.others, ...'creates' in each ? each.creates : []]
    return { name: each.operation.name, families: needed.flatMap(({ family }) => family ?? []) }
  })
}

/** The families that its items refer to. */
export function listReferred ({ references, pathReferences }: Family): Family[] {
  return [...references.values(), ...pathReferences.values()]
}

/** The family that a field, or a path, refers to. */
export function findReferred ({ references, pathReferences }: Family, name: string): Family | undefined {
  return references.get(name) ?? pathReferences.get(name)
}

/** The fields and paths that `expand` may name. */
export function listExpandable ({ references, pathReferences }: Family): string[] {
  return [...references.keys(), ...pathReferences.keys()]
}

/** With those that its operations, its creation and its deletion use. */
export function listRelated (family: Family): Family[] {
  return [...new Set([family, ...listNeeded(family).flatMap(({ families }) => families)])]
}

function listWithReferred (family: Family): Family[] {
  const others = listReferred(family).filter(other => other !== family)
  return [...new Set([...others.flatMap(listWithReferred), family])]
}
