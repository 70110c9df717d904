import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { readCreate, readEdit } from '../family/declared-operations.js'
import type { FamilyDefinition, FixedMember, Operation } from '../family/definition.js'
import type { Labels, StateDefinition } from '../family/presentation.js'
import { isObject, type Members } from '../values/json.js'
import { findFlaw, membersOf, rules, suchAs } from '../values/rules.js'
import {
  checkAttributes, checkCreate, checkDerive, checkEdit, checkFields, checkIndexes, checkInitial, checkLabels,
  checkList, checkName, checkOperations, checkOrder, checkQueries, checkReferences, checkRemove, checkRevert,
  checkSearch, checkSingular, checkStates, checkTitle, checkUnique, findUnset
} from './checks.js'
import { findFlawInObject, memberRules } from './definition-rules.js'
import type { MaybeFlaw } from './other-checks.js'
import { checkPersonal } from './personal-checks.js'
import { mapEntries, Renamer } from './rename.js'

interface Extending {
  /** Those of the extension. */
  readonly fields: TObject | undefined
  /** Throws. */
  refuse (flaw: string | undefined): void
}

type Extend<T> = (base: T | undefined, added: T | undefined, extending: Extending) => T | undefined

/** A member of a definition: all but its type and what it does. */
interface Member<T> {
  readonly rule: TSchema
  /** What the rule does not express. It may rely on the members before. */
  readonly check?: (definition: FamilyDefinition) => Iterable<MaybeFlaw>
  /** The value of an extended family. */
  readonly extend?: Extend<T>
  /** The value of a version with other names. */
  rename (value: T, renamer: Renamer): unknown
}

type MemberOf<M extends keyof FamilyDefinition> = Member<NonNullable<FamilyDefinition[M]>> &
  (M extends FixedMember ? { readonly extend?: never } : { readonly extend: Extend<NonNullable<FamilyDefinition[M]>> })

/** A member that only the plugin knows. An extension cannot have it. */
type PluginMember = Omit<Member<unknown>, 'extend'>

const { any, callback, flag, object, word, words } = rules

const keep = <T>(value: T): T => value
const rename = (value: unknown, renamer: Renamer): unknown => renamer.rename(value)
const replace = <T>(base: T, added: T): T => added ?? base
const append = <T>(base: readonly T[] = [], added: readonly T[] = []): readonly T[] => [...base, ...added]

/** @param what one of them in messages */
function addNamed<T extends object> (what: string) {
  return (base: T | undefined, added: T | undefined, { refuse }: Extending): T => {
    refuse(findRepeated(what, Object.keys(base ?? {}), Object.keys(added ?? {})))
    return { ...base, ...added } as T
  }
}

/** The compiler demands all. Messages name them in this order. */
const members: { readonly [M in keyof FamilyDefinition]-?: MemberOf<M> } & { readonly onMount: PluginMember } = {
  name: { rule: suchAs(word, 'invoices'), check: checkName, rename: keep },
  singular: { rule: suchAs(word, 'invoice'), check: checkSingular, rename: keep },
  fields: {
    rule: any,
    check: checkFields,
    extend (base, added, { refuse }) {
      const [own, others] = [base?.properties ?? {}, added?.properties ?? {}]
      refuse(added && findFlawInObject('fields', added))
      refuse(findRepeated('field', Object.keys(own), Object.keys(others)))
      return Type.Object({ ...own, ...others })
    },
    rename: ({ properties }, renamer) => Type.Object(renamer.properties(properties))
  },
  create: {
    rule: memberRules.create,
    check: checkCreate,
    extend: (base, added, extending) => added && addFields('create', readCreate({ create: base ?? [] }),
      readCreate({ create: added }), extending),
    rename (create, renamer) {
      const { fields, with: others, ...rest } = readCreate({ create })
      return { ...rest, fields: renamer.rename(fields), with: renamer.others(others as Operation['with'], {}) }
    }
  },
  remove: {
    rule: memberRules.remove,
    check: checkRemove,
    extend: replace,
    rename: (remove, renamer) => typeof remove === 'object'
      ? { ...remove, with: renamer.others(remove.with as Operation['with'], {}) }
      : remove
  },
  initial: {
    rule: callback,
    check: checkInitial,
    extend: (first, second) => first && second ? chainInitial(first, second) : second ?? first,
    rename: keep
  },
  derive: {
    rule: memberRules.derive,
    check: checkDerive,
    extend: addNamed('derived field'),
    rename: (derive, renamer) => renamer.members(derive)
  },
  prepare: {
    rule: callback,
    extend: (first, second) => first && second
      ? async (...asked) => ({ ...await first(...asked), ...await second(...asked) })
      : second ?? first,
    rename: keep
  },
  edit: {
    rule: memberRules.edit,
    check: checkEdit,
    extend: (base, added, extending) =>
      added && addFields('edit', readEdit(base ?? []), readEdit(added), extending),
    rename: (edit, renamer) => ({ ...readEdit(edit), fields: renamer.rename(readEdit(edit).fields) })
  },
  revert: {
    rule: memberRules.revert,
    check: checkRevert,
    extend: replace,
    rename: keep
  },
  attributes: {
    rule: memberRules.attributes,
    check: checkAttributes,
    extend: replace,
    rename: ({ fields, read }, renamer) => ({
      fields: renamer.rename(fields),
      read (wanted: Members, current: Members) {
        const meant = read(renamer.back(wanted), renamer.back(current))
        if ('field' in meant) return { ...meant, field: renamer.rename(meant.field) }
        return meant.operation === 'edit' ? { ...meant, params: renamer.values(meant.params) } : meant
      }
    })
  },
  operations: {
    rule: memberRules.operations,
    check: checkOperations,
    extend: addNamed('operation'),
    rename: (operations, renamer) => mapEntries(operations, (name, operation: Operation) => {
      const { with: others, params, changes } = operation
      return [name, { ...operation, with: renamer.others(others, params.properties), changes: renamer.rename(changes) }]
    })
  },
  references: {
    rule: object,
    check: checkReferences,
    extend: addNamed('reference'),
    rename: (references, renamer) => renamer.members(references)
  },
  queries: {
    rule: memberRules.queries,
    check: checkQueries,
    extend: addNamed('query'),
    rename: (queries, renamer) => mapEntries(queries, (name, { field }) => [name, { field: renamer.rename(field) }])
  },
  makeId: { rule: callback, extend: replace, rename: keep },
  order: { rule: words, check: checkOrder, extend: replace, rename },
  title: { rule: word, check: checkTitle, extend: replace, rename },
  list: {
    rule: words,
    check: checkList,
    // Fields that a host adds are shown, unless it names the columns.
    extend: (base, added, { fields }) => added ?? (base && [...base, ...listReadable(fields?.properties)]),
    rename
  },
  search: { rule: words, check: checkSearch, extend: replace, rename },
  indexes: { rule: memberRules.indexes, check: checkIndexes, extend: append, rename },
  unique: { rule: memberRules.unique, check: checkUnique, extend: append, rename },
  personal: {
    rule: words,
    check: checkPersonal,
    extend: append,
    rename: (personal, renamer) => [...new Set(personal.flatMap(path => renamer.fieldOrParam(path)))]
  },
  state: { rule: callback, extend: replace, rename: (state, { back }) => (item: Members) => state(back(item)) },
  states: {
    rule: memberRules.states,
    check: checkStates,
    // An added state is often a part of another, and the first that fits an item is its state.
    extend: (base, added) => added ? { ...added, ...base, ...added } : base,
    rename: (states, renamer) => mapEntries(states, (state, given: StateDefinition | string) =>
      [state, typeof given === 'string' ? given : { ...given, filter: renamer.filter(given.filter) }])
  },
  labels: {
    rule: memberRules.labels,
    check: checkLabels,
    extend: (base, added) => mix(base, added, 3) as typeof base,
    rename: (labels, renamer) => mapEntries(labels, (language, given: Labels) =>
      [language, { ...given, fields: given.fields && renamer.labels(given.fields) }])
  },
  constraints: {
    rule: memberRules.constraints,
    extend: (base, added) => ({ ...base, ...added }),
    rename: keep
  },
  tables: { rule: Type.Array(object, { description: 'a list of tables' }), rename: keep },
  onMount: { rule: callback, rename: keep },
  versioned: { rule: flag, rename: keep }
}

const all = Object.entries(members) as [keyof FamilyDefinition, Member<unknown>][]

const definitionRule = membersOf(
  Object.fromEntries(all.map(([name, { rule }]) => [name, rule])), ['name', 'singular']
)

const extensionRule = membersOf(
  Object.fromEntries(all.flatMap(([name, { rule, extend }]) => extend === undefined ? [] : [[name, rule]]))
)

export function findFlawInDefinition (definition: FamilyDefinition): string | undefined {
  const unfit = findFlaw(definitionRule, definition)
  if (unfit !== undefined) return unfit
  for (const [, { check }] of all) {
    for (const flaw of check?.(definition) ?? []) if (typeof flaw === 'string') return flaw
  }
  return undefined
}

/**
 * Repeated names are refused here, other clashes when the definition is compiled.
 *
 * @param refuse throws if there is a flaw
 */
export function extendMembers (
  base: FamilyDefinition, extension: Partial<FamilyDefinition>, refuse: Extending['refuse']
): FamilyDefinition {
  refuse(findFlaw(extensionRule, extension))
  const extending = { fields: extension.fields, refuse }
  const extended = all.flatMap(([name, { extend }]) => {
    const value = extend?.(base[name], extension[name], extending)
    return value === undefined ? [] : [[name, value]]
  })
  const whole = { ...base, ...Object.fromEntries(extended) as Partial<FamilyDefinition> }
  // `initial` of the base does not know them.
  const isUnset = base.initial !== undefined && extension.initial === undefined && whole.create !== undefined
  if (isUnset) refuse(findUnset(whole, Object.keys(extension.fields?.properties ?? {})))
  return whole
}

/**
 * The definition under the new names. Its rules are those of the base: they are called for the base only, except for
 * those that pages and the attribute form need.
 */
export function renameDefinition (
  definition: FamilyDefinition, names: Readonly<Record<string, string>>
): FamilyDefinition {
  const operations = (definition.operations ?? {}) as Readonly<Record<string, Operation>>
  const params = Object.values(operations).flatMap(({ params }) => Object.keys(params.properties))
  const renamer = new Renamer(names, params)
  return mapEntries(definition, (name, value: unknown) => {
    const member = members[name as keyof FamilyDefinition] as Member<unknown>
    // A member without a value may have any name.
    return [name, value === undefined ? value : member.rename(value, renamer)]
  }) as unknown as FamilyDefinition
}

interface WithFields { readonly fields: readonly string[] }

function addFields<T extends WithFields> (what: string, base: WithFields, added: T, { refuse }: Extending): T {
  refuse(findRepeated(`field of ${what}`, base.fields, added.fields))
  return { ...base, ...added, fields: [...base.fields, ...added.fields] }
}

type InitialRule = NonNullable<FamilyDefinition['initial']>

function chainInitial (first: InitialRule, second: InitialRule): InitialRule {
  return (item, context, params) => {
    const made = first(item, context, params) as Record<string, unknown>
    const isBoth = (made.others ?? made.created) !== undefined && made.item !== undefined
    return isBoth
      ? { ...made, item: second(made.item as typeof item, context, params) } as never
      : second(made, context, params)
  }
}

/** @param depth of the objects whose members are mixed; others are replaced */
function mix (base: Members = {}, added: Members = {}, depth: number): Members {
  const both = Object.entries(added).filter(([, value]) => value !== undefined).map(([name, value]) =>
    [name, depth > 1 && isObject(value) ? mix(base[name] as Members | undefined, value, depth - 1) : value])
  return { ...base, ...Object.fromEntries(both) }
}

function findRepeated (what: string, names: readonly string[], others: readonly string[]): string | undefined {
  const repeated = others.find(name => names.includes(name))
  return repeated === undefined ? undefined : `the ${what} "${repeated}" already exists`
}

function listReadable (properties: TProperties = {}): string[] {
  return Object.keys(properties).filter(name => properties[name]?.writeOnly !== true)
}
