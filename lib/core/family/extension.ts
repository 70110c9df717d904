import { type Static, type TObject, type TProperties, Type } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import { isObject, type Members } from '../values/json.js'
import { findFlaw } from '../values/rules.js'
import {
  type Context, type EditDefinition, type Facts, type FamilyDefinition, type Lookups, type OperationParams,
  type Operations, type Preparation, readCreate, readEdit
} from './definition.js'
import { extensionRule, findFlawInObject } from './definition-rules.js'
import type { AnyTypes, FamilyTypes, Inferred, ItemOf, References } from './types.js'

/** Additions to a family: fields, operations, and more of each list of its definition. */
export interface FamilyExtension<
  P extends TProperties, X extends TProperties, O extends OperationParams, F extends string = string,
  C extends string = string, V = any, W = any, N = any, M extends FamilyTypes = AnyTypes
> extends Partial<Pick<
    FamilyDefinition<P & NoInfer<X>>,
    'attributes' | 'constraints' | 'indexes' | 'labels' | 'list' | 'makeId' | 'order' | 'queries' | 'remove' |
    'search' | 'state' | 'states' | 'title' | 'unique'
  >> {
  readonly fields?: TObject<X>
  readonly create?: readonly C[]
  /** Completes a new item after the family's `initial` did. */
  readonly initial?: Inferred<X, (
    item: Static<TObject<P & NoInfer<X>>>,
    context: Context<M['items'], {}>
  ) => Static<TObject<P & NoInfer<X>>>>
  /** Called after that of the family; rules get the facts of both. */
  prepare? (asked: Preparation<ItemOf<P & NoInfer<X>>>, lookups: Lookups): Facts | Promise<Facts>
  readonly operations?: Operations<P & NoInfer<X>, O, W, N, M['references'] & NoInfer<V>>
  /** More fields that can be edited; its words and `allowed` replace those of the family. */
  readonly edit?: readonly F[] | EditDefinition<ItemOf<P & NoInfer<X>>, F>
  readonly references?: References<P & NoInfer<X>, V>
}

export type AnyExtension = FamilyExtension<TProperties, TProperties, OperationParams>

/** Repeated names are refused here, other clashes when the definition is compiled. */
export function extendDefinition (base: FamilyDefinition, extension: AnyExtension): FamilyDefinition {
  const flaw = findFlaw(extensionRule, extension) ?? findClash(base, extension)
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_EXTENSION(base.name, flaw)
  // What is not combined replaces that of the base.
  return { ...base, ...extension, ...combineDefinitions(base, extension) } as FamilyDefinition
}

function findClash (base: FamilyDefinition, extension: AnyExtension): string | undefined {
  const { fields, create, edit, operations, references, queries } = extension
  return (fields && findFlawInObject('fields', fields)) ??
    findRepeated('field', base.fields.properties, fields?.properties) ??
    findRepeated('field of create', readCreate(base).fields, create) ??
    findRepeated('operation', base.operations, operations) ??
    findRepeated('field of edit', readEdit(base.edit ?? []).fields, edit && readEdit(edit).fields) ??
    findRepeated('reference', base.references, references) ??
    findRepeated('query', base.queries, queries)
}

function combineDefinitions (base: FamilyDefinition, extension: AnyExtension) {
  const { fields, create, edit, remove = base.remove, states, list } = extension
  const sent = readCreate(base)
  return {
    fields: Type.Object({ ...base.fields.properties, ...fields?.properties }),
    create: create === undefined ? base.create : { ...sent, fields: [...sent.fields, ...create] },
    edit: edit === undefined ? base.edit : combineEdits(readEdit(base.edit ?? []), readEdit(edit)),
    remove,
    ...combineRules(base, extension),
    operations: { ...base.operations, ...extension.operations },
    indexes: [...base.indexes ?? [], ...extension.indexes ?? []],
    unique: [...base.unique ?? [], ...extension.unique ?? []],
    references: { ...base.references, ...extension.references },
    // Fields that a host adds are shown, unless it names the columns.
    list: list ?? (base.list && [...base.list, ...listReadable(fields?.properties)]),
    // An added state is often a part of another, and the first that fits an item is its state.
    states: states ? { ...states, ...base.states, ...states } : base.states,
    labels: mix(base.labels, extension.labels, 3),
    constraints: { ...base.constraints, ...extension.constraints },
    queries: { ...base.queries, ...extension.queries }
  }
}

type Edit = EditDefinition<unknown>

function combineEdits (base: Edit, added: Edit): Edit {
  return { ...base, ...added, fields: [...base.fields, ...added.fields] }
}

/** The functions of both are called, those of the base first. */
function combineRules ({ initial, prepare }: FamilyDefinition, added: AnyExtension) {
  return {
    initial: initial && added.initial ? chainInitial(initial, added.initial) : added.initial ?? initial,
    prepare: prepare && added.prepare ? chainPreparations(prepare, added.prepare) : added.prepare ?? prepare
  }
}

type Prepare = NonNullable<FamilyDefinition['prepare']>

function chainPreparations (first: Prepare, second: Prepare): Prepare {
  return async (...asked) => ({ ...await first(...asked), ...await second(...asked) })
}

type InitialRule = NonNullable<FamilyDefinition['initial']>

function chainInitial (first: InitialRule, second: InitialRule): InitialRule {
  return (item, context) => {
    const made = first(item, context) as Record<string, unknown>
    const isBoth = made.others !== undefined && made.item !== undefined
    return isBoth ? { ...made, item: second(made.item as typeof item, context) } as never : second(made, context)
  }
}

/** @param depth of the objects whose members are mixed; others are replaced */
function mix (base: Members = {}, added: Members = {}, depth: number): Members {
  const both = Object.entries(added).filter(([, value]) => value !== undefined).map(([name, value]) =>
    [name, depth > 1 && isObject(value) ? mix(base[name] as Members | undefined, value, depth - 1) : value])
  return { ...base, ...Object.fromEntries(both) }
}

type NameList = readonly string[] | Readonly<Record<string, unknown>>

function findRepeated (what: string, base: NameList = [], added: NameList = []): string | undefined {
  const [names, others] = [base, added].map(names => Array.isArray(names) ? names : Object.keys(names))
  const repeated = others?.find(name => names?.includes(name))
  return repeated === undefined ? undefined : `the ${what} "${repeated}" already exists`
}

function listReadable (properties: TProperties = {}): string[] {
  return Object.keys(properties).filter(name => properties[name]?.writeOnly !== true)
}
