import { type FamilyMount, type FormInput, isAmount, type Members } from '../exports.js'
import type { FormField, ReferenceField } from './affordances.js'
import { addChosen, describeField, type Entered, fillIn, type Filling, findError, findLineError } from './fields.js'
import { finding, listFilledRows, listSentRows, type RowChange } from './page-form.js'
import { nameChosenItem, type ReferenceNames } from './references.js'

// Fields whose value is not one text: lines of a list, rows of a table, members of an object.

type Parts = NonNullable<FormInput['parts']>

// Empty rows to fill in.
const spareRows = 2

// So that a form stays below the members that a body may have, of which its other fields need some.
const maxCells = 900
const maxRows = 200

function findMaxRows ({ inputs }: Parts): number {
  return Math.min(maxRows, Math.floor(maxCells / inputs.length))
}

/** Whether a form cannot have all rows of the value. */
export function isTooLong ({ parts }: FormInput, value: unknown): boolean {
  return parts?.shape === 'rows' && Array.isArray(value) && value.length > findMaxRows(parts)
}

/** @param value what the form starts with */
export function nest (
  field: FormField, parts: Parts, sent: Entered | undefined, filling: Filling, value: unknown
): FormField {
  const { name } = field
  const { shape, inputs } = parts
  if (shape === 'lines') {
    const [each] = inputs as [FormInput]
    return { ...field, kind: isAmount(each) ? each.kind : field.kind, shape, ...findLineError(sent, name) }
  }
  if (shape === 'group') {
    const cells = inputs.map(each => makeCell({ field, each, path: `${name}.${each.name}`, sent, filling }, value))
    return { ...field, shape, rows: [cells] }
  }
  const stored: readonly unknown[] = Array.isArray(value) ? value : []
  const { numbers, count } = numberRows(name, stored.length, sent)
  const mostRows = findMaxRows(parts)
  // Nothing that was sent is left out.
  const shown = Math.max(Math.min(count, mostRows), stored.length, numbers?.length ?? 0)
  const focused = findFocus(name, sent?.rowChange, shown)
  const rows = Array.from({ length: shown }, (_, index) => inputs.map((each, column) => {
    // A row that was sent, or one of the value; neither, if it is empty.
    const number = numbers === undefined ? undefined : numbers[index] ?? ''
    const was = stored[index]
    const cell = makeCell({ field, each, path: `${name}.${index}.${each.name}`, number, sent, filling }, was)
    const wrong = column > 0 || cell.error !== undefined ? undefined : findError(sent, `${name}/${index}`)
    return {
      ...cell,
      row: index + 1,
      // A row that stays empty is not sent.
      required: false,
      ...column === 0 && index === focused && { isFocused: true },
      ...wrong !== undefined && { error: wrong, isRowError: true }
    }
  }))
  return { ...field, shape, rows, mostRows }
}

/**
 * The numbers that the rows of a form have in it, undefined if it did not send any, and how many are shown. After a
 * problem without the empty ones, since flaws do not count them.
 */
function numberRows (
  name: string, stored: number, sent: Entered | undefined
): { readonly numbers?: readonly number[], readonly count: number } {
  const { entered = new Map<string, string>(), problem, rowChange } = sent ?? {}
  const before = listSentRows(name, entered)
  const isOwn = rowChange?.field === name
  const more = isOwn && rowChange.row === undefined ? 1 : 0
  if (before.length === 0) return { count: stored + spareRows + more }
  if (problem === undefined) {
    const numbers = before.filter(row => !isOwn || row !== rowChange.row)
    return { numbers, count: Math.max(1, numbers.length + more) }
  }
  const numbers = listFilledRows(name, entered)
  return { numbers, count: Math.max(stored + spareRows, numbers.length + spareRows, before.length) }
}

/** The index of the row to continue in. */
function findFocus (name: string, change: RowChange | undefined, count: number): number | undefined {
  if (change?.field !== name) return undefined
  return Math.min(change.row ?? count, count - 1)
}

interface CellParts {
  readonly field: FormField
  readonly each: FormInput
  readonly path: string
  /** Of its row, in the form that was sent; empty if the row was not in it. */
  readonly number?: number | '' | undefined
  readonly sent: Entered | undefined
  readonly filling: Filling
}

function makeCell ({ field, each, path, number, sent, filling }: CellParts, value: unknown): FormField {
  const isMember = typeof value === 'object' && value !== null && !Array.isArray(value)
  const own = { item: isMember ? value as Members : undefined }
  const cell: FormField = { ...describeField(each, own.item), ...fillIn(each, undefined, own) }
  const key = number === undefined ? path : `${field.name}.${number}.${each.name}`
  const text = sent?.entered.get(key)
  const made: FormField = {
    ...cell,
    name: path,
    label: `${field.name}.${each.name}`,
    required: false,
    value: text ?? (number === undefined ? cell.value : ''),
    isTyped: text !== undefined && sent?.language !== undefined,
    was: field.was === undefined ? undefined : cell.was ?? '',
    error: findError(sent, path.replaceAll('.', '/'))
  }
  const reference = filling.references?.get(made.label)
  return reference === undefined ? made : referInRow(made, reference, key, sent, filling)
}

/** Items are named by their titles and ids, so that those of many rows are found at once. */
function referInRow (
  cell: FormField, reference: ReferenceField, key: string, sent: Entered | undefined, { inRows = {} }: Filling
): FormField {
  const { label, value, was } = cell
  const titleOf = (id: string | undefined): string | undefined => inRows[label]?.get(id ?? '')?.title
  const several = sent?.choices?.get(key)
  if (several !== undefined) return { ...cell, value: undefined, reference: { ...reference, choices: several } }
  const { choices } = reference
  if (choices !== undefined) {
    return { ...cell, reference: { ...reference, choices: addChosen(choices, value, titleOf(value)) } }
  }
  const name = (id: string | undefined): string | undefined =>
    id === undefined || id === '' ? id : nameChosenItem(id, titleOf(id))
  const text = sent?.entered.get(finding + key)
  return { ...cell, name: finding + cell.name, reference, value: text ?? name(value), was: name(was) }
}

/** The items that rows of a form may name, as `findReferredTitles` has them: those of its values, and those entered. */
export function listNamedItems (
  { beside }: FamilyMount,
  references: ReferenceNames,
  values: Members,
  entered: ReadonlyMap<string, string> = new Map()
): Members[] {
  const typed = Object.entries(references).flatMap(([path, family]) => {
    const [field = '', part] = path.split('.')
    if (part === undefined) return []
    const ids = [...entered].filter(([key]) => key.replace(/\.\d{1,3}\./, '.') === path)
      .map(([, text]) => beside(family)?.readId(text))
    return [{ [field]: ids.map(id => ({ [part]: id })) }]
  })
  return [values, ...typed]
}
