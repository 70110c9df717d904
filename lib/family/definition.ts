import type { Static, TObject, TProperties } from '@sinclair/typebox'

/** The members that the service itself gives to every item of a family that can be written. */
export interface ServiceMembers {
  /** 1 at creation, one more with every change. */
  readonly revision: number
  readonly createdAt: string
  readonly updatedAt: string
}

/** An item of a family with these fields. */
export type ItemOf<P extends TProperties> = Static<TObject<P>> & ServiceMembers

/** A result of `GET /query/{result_name}/{parameter}`: the items whose field equals the parameter. */
export interface QueryDefinition {
  readonly field: string
}

/**
 * What a family is: its names and fields.
 *
 * Field types become columns, filters and documentation: integers, numbers, strings, booleans, enumerations (unions of
 * string literals), dates and date-times (`Type.String({ format: 'date' })`); anything else is kept whole and not filtered.
 */
export interface FamilyDefinition<P extends TProperties = TProperties> {
  /** The plural, as in the URL. */
  readonly name: string
  readonly singular: string
  /** All fields, `id` among them: `Type.Integer()` or `Type.String()`. */
  readonly fields: TObject<P>
  /** Results of `/query/`, by their names. The items by id are there without saying so, under the family's name. */
  readonly queries?: Readonly<Record<string, QueryDefinition>>
}
