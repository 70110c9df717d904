import {
  type ArrayOptions, type IntegerOptions, type NumberOptions, type SchemaOptions, type StringOptions, type TArray,
  type TBoolean, type TInteger, type TNumber, type TSchema, type TString, Type as TypeBox, type Union
} from '@sinclair/typebox'

type WithDefault<T, O> = O extends { readonly default: infer D } ? T & { readonly default: D } : T

/** `Type` of @sinclair/typebox; its types also have the default. */
export interface TypeBuilder
  extends Omit<typeof TypeBox, 'Array' | 'Boolean' | 'Integer' | 'Number' | 'String' | 'Union'> {
  Array<T extends TSchema, O extends ArrayOptions = {}> (items: T, options?: O): WithDefault<TArray<T>, O>
  Boolean<O extends SchemaOptions = {}> (options?: O): WithDefault<TBoolean, O>
  Integer<O extends IntegerOptions = {}> (options?: O): WithDefault<TInteger, O>
  Number<O extends NumberOptions = {}> (options?: O): WithDefault<TNumber, O>
  String<O extends StringOptions = {}> (options?: O): WithDefault<TString, O>
  Union<T extends TSchema[], O extends SchemaOptions = {}> (types: [...T], options?: O): WithDefault<Union<T>, O>
}

/**
 * Makes the types of fields and parameters.
 *
 * @example
 * fields: Type.Object({ id: Type.Integer(), title: Type.String({ maxLength: 100 }) })
 */
export const Type = TypeBox as TypeBuilder
