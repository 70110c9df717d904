import { type TObject, type TProperties, Type } from '@sinclair/typebox'
import { BoundedCache } from '../cache.js'
import { matcher } from '../storage/conditions.js'
import type { Stored } from '../storage/storage.js'
import { hashText } from '../values/ids.js'
import type { MemberFlaw, Members } from '../values/json.js'
import { getPathField } from '../values/paths.js'
import { didYouMean } from '../values/words.js'
import type { CompiledOperation, Family, Hiding, Lifecycle } from './family.js'
import { ServiceFields } from './fields.js'
import {
  growHidden, type HiddenNames, leadsToHidden, locateHidden, omitDefaults, omitFromInput, omitFromSchema,
  omitHidden, pickHidden
} from './hidden-names.js'
import { compileParams, type Params } from './params.js'
import { findPathSchema, listPaths } from './paths.js'
import type { Labels, Presentation } from './presentation.js'
import { makeState } from './states.js'

// A family without what a grant hides: from it, queries, schemas, forms and documents follow. Rules, the storage and
// the log have the whole family.

export const principalName = 'principal'

/** What is wrong with a list of names to hide. */
export function findFlawInHide ({ schema }: Family, hide: readonly string[]): string | undefined {
  for (const path of hide) {
    if (path === principalName) continue
    if (path === 'id' || Object.hasOwn(ServiceFields.properties, path)) return `"${path}" cannot be hidden`
    if (findPathSchema(schema, path) !== undefined) continue
    const known = [...listPaths(schema), principalName]
    return `"${path}" is not a field, nor a path in one, nor "${principalName}".${didYouMean(path, known)}`
  }
  return undefined
}

const maxNarrowed = 100
const narrowed = new WeakMap<Family, BoundedCache<Family>>()

/** The family without what is hidden, besides what it already lacks. The same family for the same names. */
export function narrowFamily (family: Family, hide: readonly string[] | undefined): Family {
  if (hide === undefined || hide.length === 0) return family
  const { whole = family, paths: before = [] } = family.hiding ?? {}
  const all = [...new Set([...before, ...hide])].sort()
  // Below a field that is hidden, nothing else need be named.
  const paths = all.filter(path => !all.some(other => path.startsWith(`${other}.`)))
  const cache = narrowed.get(whole) ?? new BoundedCache(maxNarrowed)
  narrowed.set(whole, cache)
  return cache.get(JSON.stringify(paths), () => makeNarrowed(whole, paths))
}

/** The family with all of its fields. */
export function getWhole (family: Family): Family {
  return family.hiding?.whole ?? family
}

const wholeItems = new WeakMap<object, Stored>()

/** An item as the caller sees it. What rules need of it is kept. */
export function hideIn<T extends Members> ({ hiding }: Family, item: T): T {
  if (hiding?.hidesFields !== true) return item
  const shown = omitHidden(hiding.names, item)
  keepWholeItem(shown, getWholeItem(item))
  return shown
}

/** The item with all of its members. */
export function getWholeItem<T extends object> (item: T): T {
  return (wholeItems.get(item) ?? item) as T
}

export function keepWholeItem (shown: object, whole: object): void {
  if (shown !== whole) wholeItems.set(shown, whole as Stored)
}

function makeNarrowed (whole: Family, paths: readonly string[]): Family {
  const hidesPrincipal = paths.includes(principalName)
  const isField = (path: string): boolean => path !== principalName || Object.hasOwn(whole.schema.properties, path)
  const names = growHidden(paths.filter(isField))
  const isShown = (name: string): boolean => names.get(name) !== 'whole'
  const keepShown = <T extends { readonly name: string }>(fields: readonly T[]): T[] =>
    fields.filter(({ name }) => isShown(name))
  const schema = omitFromSchema(names, whole.schema) as TObject
  const members = whole.members.filter(isShown)
  const unavailable = new Set<string>()
  const states = new Set(Array.from(whole.presentation.states).flatMap(([state, { where = [] }]) =>
    where.some(({ field }) => names.has(field)) ? [state] : []))
  const presentation = narrowPresentation(whole.presentation, names, states)
  const operations = new Map(Array.from(whole.operations, ([action, operation]) =>
    [action, narrowOperation(names, operation, operation === whole.edit, unavailable)] as const))
  const edit = whole.edit && operations.get(whole.edit.operation.action)
  const keepReferences = (references: ReadonlyMap<string, Family>): Map<string, Family> =>
    new Map([...references].filter(([path]) => !leadsToHidden(names, path.split('.'))))
  const hiding: Hiding = {
    whole,
    paths,
    names,
    hidesFields: names.size > 0,
    hidesPrincipal,
    unavailable,
    states,
    item: compileParams(Type.Partial(Type.Pick(schema, members)))
  }
  return {
    ...whole,
    schema,
    fields: keepShown(whole.fields),
    ownFields: keepShown(whole.ownFields),
    members,
    shape: { ...whole.shape, fields: keepShown(whole.shape.fields) },
    tag: `-${hashText(JSON.stringify([whole.tag, paths])).slice(0, 6)}`,
    presentation,
    order: whole.order.filter(({ field }) => isShown(field)),
    references: keepReferences(whole.references),
    pathReferences: keepReferences(whole.pathReferences),
    lifecycle: whole.lifecycle && narrowLifecycle(names, whole.lifecycle, unavailable),
    operations,
    changes: new Map(Array.from(whole.changes, ([action, change]) => [action, operations.get(action) ?? change])),
    edit,
    attributes: whole.attributes &&
      { ...whole.attributes, fields: whole.attributes.fields.filter(name => !names.has(name)) },
    queries: new Map([...whole.queries].filter(([, { field }]) => isShown(field))),
    state: narrowState(whole, presentation, states),
    hiding
  }
}

function narrowPresentation (
  { title, list, states, search, labels }: Presentation, names: HiddenNames, hidden: ReadonlySet<string>
): Presentation {
  const isShown = (name: string): boolean => names.get(name) !== 'whole'
  const shownTitle = isShown(title) ? title : 'id'
  const columns = list.filter(isShown)
  return {
    title: shownTitle,
    list: columns.includes(shownTitle) || isShown(title) ? columns : [shownTitle, ...columns],
    states: new Map([...states].filter(([state]) => !hidden.has(state))),
    search: search.filter(isShown),
    labels: Object.fromEntries(Object.entries(labels).map(([language, { fields, ...own }]): [string, Labels] => {
      const kept = Object.entries(fields ?? {}).filter(([path]) => !leadsToHidden(names, path.split('.')))
      return [language, { ...own, ...fields && { fields: Object.fromEntries(kept) } }]
    }))
  }
}

/** It gets the item as the caller sees it, so that it cannot tell more; a state that depends on more is none. */
function narrowState ({ state }: Family, { states }: Presentation, hidden: ReadonlySet<string>): Family['state'] {
  if (state === undefined) return undefined
  const findShown = makeState(states)
  return item => {
    try {
      const found = state(item)
      return found !== undefined && hidden.has(found) ? findShown(item) : found
    } catch {
      return findShown(item)
    }
  }
}

function narrowOperation (
  names: HiddenNames, compiled: CompiledOperation, isEdit: boolean, unavailable: Set<string>
): CompiledOperation {
  const { operation, params: { schema } } = compiled
  const { properties } = isEdit ? omitPartial(names, schema) : schema
  const params = narrowParams(names, { ...compiled.params, schema: Type.Object(properties) })
  const isEmpty = isEdit && Object.keys(params?.schema.properties ?? {}).length === 0
  if (params === undefined || isEmpty) unavailable.add(operation.action)
  const shown = isEdit
    ? { ...operation, changes: operation.changes?.filter(name => !names.has(name)) ?? [] }
    : operation
  return { ...compiled, operation: shown, params: params ?? emptyParams }
}

const emptyParams = compileParams(Type.Object({}))

/** An edit replaces a field as a whole, so one that is shown in part cannot be edited. */
function omitPartial (names: HiddenNames, { properties }: TObject): { readonly properties: TProperties } {
  return { properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !names.has(name))) }
}

function narrowLifecycle (names: HiddenNames, lifecycle: Lifecycle, unavailable: Set<string>): Lifecycle {
  const params = narrowParams(names, lifecycle.params)
  if (params === undefined) unavailable.add(lifecycle.createAction)
  return { ...lifecycle, params: params ?? emptyParams }
}

/** Undefined if something hidden would have to be sent. */
function narrowParams (names: HiddenNames, { schema, isPartial, defaults }: Params): Params | undefined {
  const input = omitFromInput(names, schema)
  return input && compileParams(Type.Object(input.properties as TProperties), isPartial, omitHidden(names, defaults))
}

/** What is unknown in parameters that the whole family accepts, because it is hidden. */
export function findHiddenParams (family: Family, action: string, sent: Members): readonly MemberFlaw[] {
  const { hiding, operations, lifecycle } = family
  const params = action === lifecycle?.createAction ? lifecycle.params : operations.get(action)?.params
  if (hiding === undefined || params === undefined) return []
  const { whole } = hiding
  const declared = action === lifecycle?.createAction ? whole.lifecycle?.params : whole.operations.get(action)?.params
  const given = omitDefaults(hiding.names, declared?.schema as TObject, sent) as Members
  const read = params.read(given)
  return addHidden(hiding.names, given, 'flaws' in read ? read.flaws : [])
}

/** What is unknown in members of an item, because it is hidden. Others may have flaws. */
export function findHiddenMembers ({ hiding }: Family, sent: Members): readonly MemberFlaw[] {
  if (hiding === undefined) return []
  const given = omitDefaults(hiding.names, hiding.whole.schema, sent) as Members
  const read = hiding.item.read(given)
  const flaws = 'flaws' in read ? read.flaws : []
  const hidden = flaws.filter(({ pointer }) => leadsToHidden(hiding.names, pointer.split('/').slice(1)))
  return addHidden(hiding.names, given, hidden)
}

/** Objects in fields may accept any members. */
function addHidden (names: HiddenNames, given: Members, flaws: readonly MemberFlaw[]): readonly MemberFlaw[] {
  const others = locateHidden(names, given).filter(pointer => !flaws.some(flaw => flaw.pointer === pointer))
  return [...flaws, ...others.map(pointer => ({ pointer, detail: 'is unknown.' }))]
}

/** Whether something hidden differs between two values of a field. */
export function differsHidden ({ hiding }: Family, name: string, from: unknown, to: unknown): boolean {
  const within = hiding?.names.get(getPathField(name))
  if (within === undefined) return false
  if (within === 'whole' || from === undefined || to === undefined) return true
  return JSON.stringify(pickHidden(within, from)) !== JSON.stringify(pickHidden(within, to))
}

/** Whether an item meets conditions, on whatever is hidden of it. */
export function holdsWhole (where: Parameters<typeof matcher>[0]): (item: Stored) => boolean {
  const holds = matcher(where)
  return item => holds(getWholeItem(item))
}
