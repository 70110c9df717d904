import type { TObject, TSchema } from '@sinclair/typebox'
import type { Problem } from '../../problems.js'
import { isOrdered } from '../../query/names.js'
import type { FormField } from '../../representations/representation.js'
import type { Field } from '../../storage/storage.js'
import { fieldsOf } from '../model/shape.js'

/** What was entered in a form that was refused, and why it was. */
export interface Entered {
  readonly entered: ReadonlyMap<string, string>
  readonly problem: Problem
}

/** The fields of a form, from the schema of what it sends. */
export function formFields (schema: TObject, sent: Entered | undefined): FormField[] {
  return fieldsOf(schema).map(({ name, kind, optional, values }) => {
    const { description, minimum, maxLength } = schema.properties[name] as TSchema
    return {
      name,
      label: name,
      kind,
      required: !optional,
      ...(description === undefined ? {} : { description }),
      ...(values === undefined ? {} : { values }),
      ...(minimum === undefined ? {} : { minimum }),
      ...(maxLength === undefined ? {} : { maxLength }),
      ...before(name, sent)
    }
  })
}

/** The fields to filter by: one choice for what has few values, bounds for what has an order, a pattern for text. */
export function filterFields (fields: readonly Field[], sent: Omit<Entered, 'problem'> & Partial<Entered>): FormField[] {
  return fields.flatMap(field => filtersOf(field).map(({ name, label }) => ({
    name,
    label,
    // A moment is asked for by its day.
    kind: field.kind === 'date-time' ? 'date' as const : field.kind,
    required: false,
    ...(field.values === undefined ? {} : { values: field.values }),
    ...before(name, sent)
  })))
}

function filtersOf (field: Field): { name: string, label: string }[] {
  const { name, kind } = field
  if (kind === 'json') return []
  if (!isOrdered(field)) return [{ name, label: name }]
  // Nobody knows a part of an id by heart.
  if (kind === 'string') return name === 'id' ? [] : [{ name: `${name}.regex`, label: `${name} has` }]
  return [{ name: `min-${name}`, label: `${name} from` }, { name: `max-${name}`, label: `${name} to` }]
}

function before (name: string, { entered, problem }: Partial<Entered> = {}): { value?: string, error?: string } {
  const value = entered?.get(name)
  const error = problem?.errors?.find(flaw => 'pointer' in flaw ? flaw.pointer === `/${name}` : flaw.parameter === name)?.detail
  return {
    ...(value === undefined ? {} : { value }),
    // The label says the name already.
    ...(error === undefined ? {} : { error: error.startsWith(`${name} `) ? error.slice(name.length + 1) : error })
  }
}
