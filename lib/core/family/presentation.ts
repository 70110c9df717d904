import type { Field } from '../storage/storage.js'
import { didYouMean } from '../values/nearest.js'
import type { FamilyDefinition } from './definition.js'

/** How people see the items of a family. */
export interface Presentation {
  /** The field that says which item it is. */
  readonly title: string
  /** The fields that a list shows. */
  readonly list: readonly string[]
}

type Declared = Pick<FamilyDefinition, 'title' | 'list'>

/** Names what is wrong with `title` or `list`; undefined where nothing is. */
export function findFlawInPresentation (fields: readonly Field[], { title, list }: Declared): string | undefined {
  const known = fields.map(({ name }) => name)
  const plain = fields.filter(({ kind }) => kind !== 'json').map(({ name }) => name)
  if (title !== undefined && !plain.includes(title)) {
    return `the title is "${title}", which is no field that is a word, a text or a number.${didYouMean(title, plain)}`
  }
  if (list === undefined) return undefined
  if (list.length === 0) return 'the list must name a field'
  const unknown = list.find(name => !known.includes(name))
  if (unknown !== undefined) return `the list names "${unknown}", which is no field.${didYouMean(unknown, known)}`
  const twice = list.find((name, index) => list.indexOf(name) !== index)
  return twice === undefined ? undefined : `the list names "${twice}" twice`
}

/** What a definition says of it or, where it says nothing, what suits its fields. */
export function choosePresentation (fields: readonly Field[], declared: Declared): Presentation {
  const title = declared.title ?? fields.find(isName)?.name ?? 'id'
  return { title, list: declared.list ?? chooseColumns(fields, title) }
}

function isName ({ name, kind, optional }: Field): boolean {
  return ['name', 'title', 'label'].includes(name) && kind === 'string' && !optional
}

// More do not stand side by side.
const maxColumns = 6
// A text that may be longer is for the item's own page.
const shortText = 200

/** The columns that tell most in least room, in the order of the fields. */
function chooseColumns (fields: readonly Field[], title: string): string[] {
  const rank = ({ name, kind, values, maxLength = Infinity }: Field): number => {
    if (name === title) return 0
    if (name === 'id' || name === 'revision' || kind === 'json') return Infinity
    if (values !== undefined) return 1
    if (name === 'createdAt' || name === 'updatedAt') return name === 'createdAt' ? 4 : 6
    if (kind !== 'string') return 2
    return maxLength <= shortText ? 3 : 5
  }
  const chosen = fields.filter(field => rank(field) !== Infinity)
    .sort((a, b) => rank(a) - rank(b)).slice(0, maxColumns).map(({ name }) => name)
  return [title, ...fields.map(({ name }) => name).filter(name => name !== title && chosen.includes(name))]
}
