import {
  describeForm, describeItem, type FamilyModel, type FamilyMount, type Field, type FormInput
} from '../exports.js'
import type { Kinds, LabelTable, ShownKind } from './shown.js'

/** The language of titles, which are the labels in every language that has no others. */
export const anyLanguage = ''

const labelTables = new WeakMap<FamilyModel, LabelTable>()

/** The labels of a family, with the titles in its schemas. */
export function labelsOf (mount: FamilyMount): LabelTable {
  const { model } = mount
  const known = labelTables.get(model)
  if (known !== undefined) return known
  const params = model.actions.flatMap(({ action }) => describeForm(mount, action).inputs)
  // Those of fields come first: a parameter of the same name has its own beside it.
  const titles = new Map([...params, ...describeItem(mount)].flatMap(input => listTitles(input)))
  const { labels } = model
  const table = titles.size === 0 ? labels : { ...labels, [anyLanguage]: { fields: Object.fromEntries(titles) } }
  labelTables.set(model, table)
  return table
}

function listTitles ({ name, title, parts }: FormInput, within = ''): (readonly [path: string, title: string])[] {
  const path = within + name
  const own = title === undefined ? [] : [[path, title] as const]
  const inner = parts === undefined || parts.shape === 'lines' ? [] : parts.inputs
  return [...own, ...inner.flatMap(input => listTitles(input, `${path}.`))]
}

/** An id is a name, not a number, and so is the title of an item. @param mount of the items that have the field */
export function showKind (mount: FamilyMount | undefined, { name, kind, values }: Omit<Field, 'optional'>): ShownKind {
  if (values !== undefined) return 'choice'
  const { references = {}, title } = mount?.model ?? {}
  const isName = name === 'id' || name.endsWith('.id') || Object.hasOwn(references, name) ||
    (name === title && (kind === 'integer' || kind === 'number'))
  return isName ? 'string' : kind
}

// A list of fields is that of one family, or of none.
const kindsOf = new WeakMap<readonly Field[], Kinds>()

/** The kinds of members and, by their paths, of what is in them. */
export function listKinds (
  mount: FamilyMount | undefined, fields: readonly Field[] = mount === undefined ? [] : describeItem(mount)
): Kinds {
  const known = kindsOf.get(fields)
  if (known !== undefined) return known
  const kinds = Object.fromEntries(fields.flatMap(field => {
    const { parts }: Partial<FormInput> = field
    const inner = parts?.inputs.map(part => {
      // The entries of a list have no name.
      const path = parts.shape === 'lines' ? `${field.name}.` : `${field.name}.${part.name}`
      return [path, showKind(mount, { ...part, name: path })] as const
    })
    return [[field.name, showKind(mount, field)] as const, ...inner ?? []]
  }))
  kindsOf.set(fields, kinds)
  return kinds
}
