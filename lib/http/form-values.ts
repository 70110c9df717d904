import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import { declaresNull, listFields, withoutNull } from '../core/family/fields.js'
import type { Params } from '../core/family/params.js'
import { invalidBody } from '../core/problems.js'
import { isAmount, readAmount } from '../core/query/amounts.js'
import { toInstant } from '../core/query/time-zones.js'
import { type ReadResult, readValue } from '../core/query/values.js'
import type { Field } from '../core/storage/storage.js'
import { readDecimal } from '../core/values/decimals.js'
import { escapePointer, isObject, type MemberFlaw, type Members } from '../core/values/json.js'

/** How a form sends a member that is not a single text: a list as lines of one field, objects as `name.0.member`. */
export type Nested =
  | { readonly shape: 'lines', readonly fields: readonly [Field] }
  | { readonly shape: 'rows' | 'group', readonly fields: readonly Field[], readonly schema: TObject }

/** Undefined if no form can send it. */
export function findNested (declared: TSchema): Nested | undefined {
  const schema = withoutNull(declared)
  if (schema.type === 'object') return nestMembers('group', schema)
  if (schema.type !== 'array' || !isObject(schema.items)) return undefined
  const items = schema.items as TSchema
  if (items.type === 'object') return nestMembers('rows', items)
  const [field] = listFields(Type.Object({ '': items })) as [Field]
  return field.kind === 'json' ? undefined : { shape: 'lines', fields: [field] }
}

function nestMembers (shape: 'rows' | 'group', schema: TSchema): Nested | undefined {
  if (!isObject(schema.properties) || Object.keys(schema.properties).length === 0) return undefined
  const fields = listFields(schema as TObject)
  const isFlat = fields.every(({ kind, name }) => kind !== 'json' && !name.includes('.'))
  return isFlat ? { shape, fields, schema: schema as TObject } : undefined
}

/** Whether a form can send the field. */
export function canEnter ({ kind }: Field, schema: TSchema): boolean {
  return kind !== 'json' || findNested(schema) !== undefined
}

interface FieldReading {
  /** Undefined if nothing was entered. */
  value?: unknown
  flaws: MemberFlaw[]
}

/** How the texts of a form are read. */
export interface Writing {
  /** The zone of local times; default: UTC. */
  readonly zone: string | undefined
  /** The language of amounts; without it, they are as in JSON. */
  readonly language: string | undefined
  /** Whether the form showed the defaults: an empty field was emptied then. */
  readonly isOwn: boolean
}

/** The members of a form, with its texts converted to the types of the schema. */
export function readFormEntries (params: Params, entries: ReadonlyMap<string, string>, writing: Writing): Members {
  const members: [name: string, value: unknown][] = []
  const flaws: MemberFlaw[] = []
  for (const name of new Set([...entries.keys()].map(name => name.replace(/\..*$/s, '')))) {
    const field = params.fields.find(field => field.name === name)
    const read = field === undefined
      ? { value: entries.get(name) ?? '', flaws: [] }
      : readMember(params, field, entries, writing)
    flaws.push(...read.flaws, ...field === undefined ? [] : findUnknown(params, field, entries))
    if (read.value !== undefined) members.push([name, read.value])
  }
  // Not assigned one by one, so that __proto__ is a member like any other.
  const read = params.read(Object.fromEntries(members))
  if ('params' in read && flaws.length === 0) return read.params
  const others = 'flaws' in read ? read.flaws : []
  // A member that could not be read has its flaw already.
  throw invalidBody([...flaws, ...others.filter(({ pointer }) => flaws.every(flaw => flaw.pointer !== pointer))])
}

/** Unknown names, such as `lines.0.colour` or `title.x`. */
function findUnknown ({ schema }: Params, { name, kind }: Field, entries: ReadonlyMap<string, string>): MemberFlaw[] {
  const nested = kind === 'json' ? findNested(schema.properties[name] as TSchema) : undefined
  const known = nested === undefined || nested.shape === 'lines' ? [] : nested.fields.map(field => field.name)
  const isKnown = (path: string) => known.includes(nested?.shape === 'rows' ? path.replace(/^\d{1,3}\./, '') : path)
  return [...entries.keys()].filter(key => key.startsWith(`${name}.`) && !isKnown(key.slice(name.length + 1)))
    .map(key => ({ pointer: `/${escapePointer(key).replaceAll('.', '/')}`, detail: 'is unknown' }))
}

function readMember (
  { schema, isPartial, defaults }: Params,
  field: Field,
  entries: ReadonlyMap<string, string>,
  writing: Writing
): FieldReading {
  const { name } = field
  const declared = schema.properties[name] as TSchema
  const pointer = `/${escapePointer(name)}`
  const isDefault = writing.isOwn && defaults[name] !== undefined
  const isFilled = isPartial || isDefault
  // Left empty, a field is null, or not sent if it cannot be. Emptied, it is null, or else an empty text or list.
  const empty: FieldReading = { flaws: [] }
  if (isFilled ? declaresNull(declared) : field.nullable === true) empty.value = null
  const nested = field.kind === 'json' ? findNested(declared) : undefined
  if (nested === undefined) {
    const text = entries.get(name) ?? ''
    return text === '' && (empty.value === null || !isFilled) ? empty : readFieldText(field, text, writing, pointer)
  }
  const texts = new Map([...entries].filter(([key]) => key === name || key.startsWith(`${name}.`)))
  const isBlank = [...texts.values()].every(text => text.trim() === '')
  const blank = isBlank ? readBlank(nested, empty, isDefault, isFilled || !field.optional) : undefined
  return blank ?? readNested(nested, name, texts, writing, pointer)
}

/** Undefined for a group without a text, which replaces its default. */
function readBlank (
  { shape }: Nested, empty: FieldReading, isDefault: boolean, isKept: boolean
): FieldReading | undefined {
  if (empty.value === null) return empty
  if (shape === 'group') return isDefault ? undefined : empty
  return isKept ? { value: [], flaws: [] } : empty
}

function readNested (
  nested: Nested, name: string, texts: ReadonlyMap<string, string>, writing: Writing, pointer: string
): FieldReading {
  if (nested.shape === 'group') return readObject(nested.fields, texts, name, writing, pointer)
  const all = nested.shape === 'lines'
    ? (texts.get(name) ?? '').split('\n').map(line => line.trim()).filter(line => line !== '')
        .map((line, index) => readFieldText(nested.fields[0], line, writing, `${pointer}/${index}`))
    : findRows(texts, name).map((row, index) =>
      readObject(nested.fields, texts, `${name}.${row}`, writing, `${pointer}/${index}`))
  return { value: all.map(({ value }) => value), flaws: all.flatMap(({ flaws }) => flaws) }
}

function readFieldText (field: Field, given: string, { zone, language }: Writing, pointer: string): FieldReading {
  const local = field.kind === 'date-time' ? toInstant(given, zone ?? 'UTC') : undefined
  if (local !== undefined) return { value: local, flaws: [] }
  const text: ReadResult<string> = language !== undefined && isAmount(field)
    ? readAmount(language, field.kind, given)
    : { value: given }
  const read = 'value' in text ? readValue(field, text.value) : text
  if ('expected' in read) return { flaws: [{ pointer, detail: read.expected }] }
  // In a list or an object, only the canonical text is valid.
  return { value: field.kind === 'decimal' ? readDecimal(read.value, field.scale as number) : read.value, flaws: [] }
}

function readObject (
  fields: readonly Field[],
  texts: ReadonlyMap<string, string>,
  path: string,
  writing: Writing,
  pointer: string
): FieldReading {
  const members: [name: string, value: unknown][] = []
  const flaws: MemberFlaw[] = []
  for (const field of fields) {
    const text = texts.get(`${path}.${field.name}`) ?? ''
    const isEmpty = text === '' && (field.optional || field.nullable === true || field.kind !== 'string')
    if (isEmpty && field.nullable === true) members.push([field.name, null])
    if (isEmpty) continue
    const read = readFieldText(field, text, writing, `${pointer}/${escapePointer(field.name)}`)
    flaws.push(...read.flaws)
    if (read.value !== undefined) members.push([field.name, read.value])
  }
  return { value: Object.fromEntries(members), flaws }
}

/** The numbers of the rows in which something is entered. */
export function findRows (texts: ReadonlyMap<string, string>, name: string): number[] {
  return listRows(new Map([...texts].filter(([, text]) => text.trim() !== '')), name)
}

/** The numbers of all rows, also of empty ones. */
export function listRows (texts: ReadonlyMap<string, string>, name: string): number[] {
  const rows = new Set<number>()
  for (const key of texts.keys()) {
    const [, row] = key.startsWith(`${name}.`) ? /^\.(\d{1,3})\./.exec(key.slice(name.length)) ?? [] : []
    if (row !== undefined) rows.add(Number(row))
  }
  return [...rows].sort((a, b) => a - b)
}
