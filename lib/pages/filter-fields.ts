import { type FamilyMount, type Field, isOrdered, type ListQuery } from '../exports.js'
import type { FormField, ReferenceField } from './affordances.js'
import { type Entered, findError, refer } from './fields.js'
import { listActionChoices } from './log-entries.js'

/** Whether the value is one text, which can be filtered and sorted. */
export function isFilterable ({ kind }: Field): boolean {
  return kind !== 'json'
}

/** A choice for few values, bounds for ordered values, a part for texts. */
export function makeFilterFields (
  fields: readonly Field[],
  sent: Entered,
  references: ReadonlyMap<string, ReferenceField>
): FormField[] {
  return fields.filter(isFilterable).flatMap(field => {
    const reference = references.get(field.name)
    const inputs = reference === undefined ? listFilterInputs(field) : [[field.name] as const]
    return inputs.map(([name, bound]) => {
      const made: FormField = {
        name,
        label: field.name,
        bound,
        // A moment is filtered by its day.
        kind: field.kind === 'date-time' ? 'date' : field.kind,
        required: false,
        values: field.values,
        value: sent.entered.get(name),
        isTyped: sent.language !== undefined,
        error: findError(sent, name)
      }
      return reference === undefined ? made : refer(made, reference, sent)
    })
  })
}

/** By what people see in an entry: of which family it is, what was done, how it ended, who did it, and when. */
export function listLogFilters (
  mounts: readonly [FamilyMount, ...FamilyMount[]],
  { parameters }: ListQuery,
  isShared = false,
  entryFields = mounts[0].model.entryFields
): FormField[] {
  const entered = new Map(parameters.map(({ name, value }) => [name, value]))
  const choose = (name: string, choices: Pick<FormField, 'actions' | 'families'>): FormField =>
    ({ name, label: name, kind: 'string', required: false, value: entered.get(name), ...choices })
  const named = mounts.map(({ model: { name, labels } }) => ({ name, labels }))
  const shown = entryFields.filter(({ name }) => ['outcome', 'principal', 'createdAt'].includes(name))
  return [
    ...isShared ? [choose('family', { families: named })] : [],
    choose('action', { actions: mounts.flatMap(listActionChoices) }),
    ...makeFilterFields(shown, { entered }, new Map())
  ]
}

function listFilterInputs (field: Field): (readonly [name: string, bound?: FormField['bound']])[] {
  const { name, kind } = field
  if (!isOrdered(field)) return [[name]]
  // A part of an id is not useful to people.
  if (kind === 'string') return name === 'id' ? [] : [[`${name}.has`, 'has']]
  return [[`min-${name}`, 'from'], [`max-${name}`, 'to']]
}
