import type { Static, TObject, TProperties } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import { definitionRules, findFlawInEditMembers, findMemberFlaw } from './check-members.js'
import { findFlawInObject } from './check-schema.js'
import type { AnyFamily } from './compiled.js'
import type { EditDefinition, FamilyDefinition, FieldName, ItemOf, OperationParams } from './definition.js'
import { readEdit } from './edit.js'
import type { Context, Operation } from './operation.js'

/** What a host adds to a family. */
export interface FamilyExtension<
  P extends TProperties, X extends TProperties, O extends OperationParams, F extends string = string
> extends Partial<
    Pick<FamilyDefinition<P & X>, 'attributes' | 'state' | 'makeId' | 'order' | 'title' | 'list' | 'queries'>
  > {
  /** Fields that its items have besides. */
  readonly fields?: TObject<X>
  /** Fields that a client sends at creation, besides those that the family has for it. */
  readonly create?: readonly FieldName<P & NoInfer<X>>[]
  /** Completes a new item after the family's own `initial` did. */
  initial? (item: Static<TObject<P & NoInfer<X>>>, context: Context): Static<TObject<P & NoInfer<X>>>
  /** What can be done with an item besides. */
  readonly operations?: { readonly [K in keyof O]: Operation<ItemOf<P & NoInfer<X>>, O[K]> }
  /** Fields that can be edited, besides those of the family; other words, or `allowed`, take the place of its own. */
  readonly edit?: readonly F[] | EditDefinition<ItemOf<P & NoInfer<X>>, F>
  /** Fields, or rows of fields, that have an index, besides those of the family. */
  readonly indexes?: FamilyDefinition<P & NoInfer<X>>['indexes']
  /** Rows of fields whose values together no two items have, besides those of the family. */
  readonly unique?: readonly (readonly FieldName<P & NoInfer<X>>[])[]
  /** Fields that hold the id of another item, besides those of the family. */
  readonly references?: { readonly [K in FieldName<P & NoInfer<X>>]?: AnyFamily | string }
}

const { name, singular, versioned, ...rules } = definitionRules

/** An extension of no particular family. */
export type AnyExtension = FamilyExtension<TProperties, TProperties, OperationParams>

/** The definition with the additions. What is there already is refused here, other clashes when it is compiled. */
export function extendDefinition (base: FamilyDefinition, extension: AnyExtension): FamilyDefinition {
  const flaw = findMemberFlaw(extension, rules) ?? findFlawInFields(extension) ?? findFlawInEditMembers(extension.edit)
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_EXTENSION(base.name, flaw)
  const { fields, create, initial, operations, edit, indexes, unique, references, queries, ...others } = extension
  for (const field of create ?? []) {
    if (base.create?.includes(field) === true) {
      throw new errorCodes.FST_DEALBOOK_INVALID_EXTENSION(base.name, `a client sends "${field}" at creation already`)
    }
  }
  refuseTwice(base.name, 'field', base.fields.properties, fields?.properties)
  refuseTwice(base.name, 'operation', base.operations, operations)
  refuseTwice(base.name, 'reference', base.references, references)
  refuseTwice(base.name, 'query', base.queries, queries)
  return {
    ...base,
    ...others,
    fields: Type.Object({ ...base.fields.properties, ...fields?.properties }),
    ...(create === undefined ? {} : { create: [...base.create ?? [], ...create] }),
    ...(initial === undefined ? {} : { initial: chainInitial(base.initial, initial) }),
    operations: { ...base.operations, ...operations },
    ...(edit === undefined ? {} : { edit: extendEdit(base, readEdit(edit)) }),
    ...(indexes === undefined ? {} : { indexes: [...base.indexes ?? [], ...indexes] }),
    ...(unique === undefined ? {} : { unique: [...base.unique ?? [], ...unique] }),
    ...(references === undefined ? {} : { references: { ...base.references, ...references } }),
    ...extendList(base, extension),
    queries: { ...base.queries, ...queries }
  }
}

// What a host adds is seen, unless it says which fields are.
function extendList ({ list }: FamilyDefinition, { fields, list: own }: AnyExtension): Pick<FamilyDefinition, 'list'> {
  if (list === undefined || own !== undefined || fields === undefined) return {}
  return { list: [...list, ...Object.keys(fields.properties)] }
}

type Initial = NonNullable<FamilyDefinition['initial']>

// What the family makes of a new item is what the extension begins with.
function chainInitial (base: Initial | undefined, added: Initial): Initial {
  return base === undefined ? added : (item, context) => added(base(item, context), context)
}

function extendEdit ({ name, edit = [] }: FamilyDefinition, added: EditDefinition<unknown>): EditDefinition<unknown> {
  const base = readEdit(edit)
  const twice = added.fields.find(field => base.fields.includes(field))
  if (twice !== undefined) {
    throw new errorCodes.FST_DEALBOOK_INVALID_EXTENSION(name, `a client edits "${twice}" already`)
  }
  return { ...base, ...added, fields: [...base.fields, ...added.fields] }
}

function findFlawInFields ({ fields }: AnyExtension): string | undefined {
  return fields === undefined ? undefined : findFlawInObject('fields', fields)
}

function refuseTwice (family: string, what: string, base: object = {}, added: object = {}): void {
  const twice = Object.keys(added).find(name => Object.hasOwn(base, name))
  if (twice === undefined) return
  throw new errorCodes.FST_DEALBOOK_INVALID_EXTENSION(family, `the ${what} "${twice}" is there already`)
}
