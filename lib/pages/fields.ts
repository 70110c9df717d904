import type { Flaw, FormInput, Members, Problem } from '../exports.js'
import type { FormField, ReferenceField, RowReferences, ShownMember } from './affordances.js'
import { finding, type RowChange } from './page-form.js'
import type { Choices } from './page-reads.js'
import type { FoundChoices } from './references.js'

// One field of a form: what may be entered, what is, and what is wrong with it.

/** A form that is shown again. */
export interface RefusedForm {
  /** The URL it was sent to; undefined for the filters of a list. */
  readonly action: string | undefined
  readonly entered: ReadonlyMap<string, string>
  /** The language in which amounts were entered; without it, they are as in JSON. */
  readonly language?: string | undefined
  /** Undefined if the form only gets a row more, or less. */
  readonly problem: Problem | undefined
  readonly rowChange?: RowChange | undefined
  /** The revision of the page that the rows are from. */
  readonly revision?: string | undefined
  /** The revision that its page showed, if that is why. */
  readonly since?: number | undefined
  /** Items that fit what was entered. */
  readonly choices?: FoundChoices | undefined
}

/** What is known of a form that was sent. */
export type Entered = Partial<Pick<RefusedForm, 'problem' | 'rowChange' | 'choices' | 'language'>> &
  Pick<RefusedForm, 'entered'>

/** How the fields of a form are filled in. */
export interface Filling {
  /** The item that the form edits. */
  readonly item?: Members | undefined
  readonly references?: ReadonlyMap<string, ReferenceField>
  /** The titles of the items that it refers to. */
  readonly titles?: Readonly<Record<string, { readonly title: string } | undefined>>
  readonly inRows?: RowReferences | undefined
  /** Items that were chosen before, or by default, as a look-up has them. */
  readonly chosen?: ReadonlyMap<string, string>
  /** Values that others have changed since. */
  readonly theirs?: ReadonlyMap<string, ShownMember>
}

/** What may be entered. */
export function describeField (input: FormInput, item: Members | undefined): Omit<FormField, 'value'> {
  const { name, title, kind, description, maxLength, values, initial } = input
  const was = item && writeEntered(item[name])
  // A field may have become stricter since the item was stored.
  const isListed = values === undefined || was === undefined || was === '' || values.includes(was)
  return {
    name,
    label: name,
    title,
    kind,
    description,
    maxLength,
    values: isListed ? values : [...values, was],
    required: isRequired(input, was ?? (initial === undefined ? undefined : writeEntered(initial)))
  }
}

/** @param given the text that the form has at first */
function isRequired (
  { kind, values, minLength, optional, nullable = false, takesNull }: FormInput, given: string | undefined
): boolean {
  // A nullable field that is left empty is null.
  if (given === undefined) return !optional && !nullable
  const takesEmpty = (kind === 'string' && values === undefined && minLength === 0) || kind === 'json'
  return given !== '' && !takesEmpty && !takesNull
}

/** What is entered, and what is wrong with it. */
export function fillIn (
  { name, initial }: FormInput, sent: Entered | undefined, { item, theirs }: Filling
): Pick<FormField, 'value' | 'isTyped' | 'was' | 'error' | 'theirs'> {
  const was = item && writeEntered(item[name])
  const entered = sent?.entered.get(name)
  return {
    value: entered ?? was ?? (initial === undefined ? undefined : writeEntered(initial)),
    isTyped: entered !== undefined && sent?.language !== undefined,
    was,
    error: findError(sent, name),
    theirs: sent === undefined ? undefined : theirs?.get(name)
  }
}

export function writeEntered (value: unknown): string {
  if (Array.isArray(value)) return value.map(String).join('\n')
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value)
}

/** The text of a look-up is the title. */
export function refer (
  field: FormField,
  reference: ReferenceField,
  sent: Entered | undefined,
  { titles, chosen }: Filling = {}
): FormField {
  const { name, value, was } = field
  const { choices } = reference
  const title = titles?.[name]?.title
  const several = sent?.choices?.get(name)
  // None of them, before a person chooses.
  if (several !== undefined) return { ...field, value: undefined, reference: { ...reference, choices: several } }
  if (choices !== undefined) return { ...field, reference: { ...reference, choices: addChosen(choices, value, title) } }
  const shown = was === undefined ? undefined : title ?? was
  const entered = sent?.entered.get(finding + name)
  return { ...field, name: finding + name, reference, value: entered ?? chosen?.get(name) ?? shown, was: shown }
}

/** The item that is chosen may not be one of the first. */
export function addChosen (choices: Choices, value: string | undefined, title: string | undefined): Choices {
  const isKnown = value === undefined || value === '' || choices.some(choice => choice.value === value)
  return isKnown ? choices : [{ value, title: title ?? value }, ...choices]
}

export function findError (sent: Entered | undefined, name: string): string | undefined {
  const isHere = (flaw: Flaw) => 'pointer' in flaw ? flaw.pointer === `/${name}` : flaw.parameter === name
  const error = sent?.problem?.errors?.find(isHere)?.detail
  // The label has the name already.
  return error?.startsWith(`${name} `) === true ? error.slice(name.length + 1) : error
}

/** The first flaw of a list, and the line it is in. */
export function findLineError (sent: Entered | undefined, name: string): Pick<FormField, 'error' | 'line'> {
  for (const flaw of sent?.problem?.errors ?? []) {
    const [, field, index] = 'pointer' in flaw ? flaw.pointer.split('/') : []
    if (field === name && index !== undefined) return { error: flaw.detail, line: Number(index) + 1 }
  }
  return { error: findError(sent, name) }
}
