import type { TObject, TProperties } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import { definitionRules, findMemberFlaw } from './check-members.js'
import { findFlawInObject } from './check-schema.js'
import type { FamilyDefinition, ItemOf, OperationParams } from './definition.js'
import type { Operation } from './operation.js'

/** What a host adds to a family. */
export interface FamilyExtension<P extends TProperties, X extends TProperties, O extends OperationParams>
  extends Partial<Pick<FamilyDefinition<P & X>, 'attributes' | 'state' | 'makeId' | 'order' | 'queries'>> {
  readonly fields?: TObject<X>
  /** Fields that a client sends at creation, besides those that the family has for it. */
  readonly create?: readonly (Exclude<keyof P | keyof NoInfer<X>, 'id'> & string)[]
  readonly operations?: { readonly [K in keyof O]: Operation<ItemOf<P & NoInfer<X>>, O[K]> }
}

const { name, singular, versioned, ...rules } = definitionRules

/** An extension of no particular family. */
export type AnyExtension = FamilyExtension<TProperties, TProperties, OperationParams>

/** The definition with the additions. What is there already is refused here, other clashes when it is compiled. */
export function extendDefinition (base: FamilyDefinition, extension: AnyExtension): FamilyDefinition {
  const flaw = findMemberFlaw(extension, rules) ?? findFlawInFields(extension)
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_EXTENSION(base.name, flaw)
  const { fields, create, operations, queries, ...others } = extension
  for (const field of create ?? []) {
    if (base.create?.includes(field) === true) {
      throw new errorCodes.FST_DEALBOOK_INVALID_EXTENSION(base.name, `a client sends "${field}" at creation already`)
    }
  }
  refuseTwice(base.name, 'field', base.fields.properties, fields?.properties)
  refuseTwice(base.name, 'operation', base.operations, operations)
  refuseTwice(base.name, 'query', base.queries, queries)
  return {
    ...base,
    ...others,
    fields: Type.Object({ ...base.fields.properties, ...fields?.properties }),
    ...(create === undefined ? {} : { create: [...base.create ?? [], ...create] }),
    operations: { ...base.operations, ...operations },
    queries: { ...base.queries, ...queries }
  }
}

function findFlawInFields ({ fields }: AnyExtension): string | undefined {
  return fields === undefined ? undefined : findFlawInObject('fields', fields)
}

function refuseTwice (family: string, what: string, base: object = {}, added: object = {}): void {
  const twice = Object.keys(added).find(name => Object.hasOwn(base, name))
  if (twice === undefined) return
  throw new errorCodes.FST_DEALBOOK_INVALID_EXTENSION(family, `the ${what} "${twice}" is there already`)
}
