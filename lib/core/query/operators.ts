import { type TSchema, Type } from '@sinclair/typebox'
import { type Bound, compareScalars, type ConditionOf } from '../storage/conditions.js'
import type { Field, FieldCondition, Scalar } from '../storage/storage.js'
import type { Day } from '../values/formats.js'
import {
  describeValue, fitsField, isFreeText, isOrdered, type Operand, type PatternSizes, readBoolean, readOperand,
  readPattern, type ReadResult, readWords
} from './values.js'

interface OperandReading {
  readonly limits: PatternSizes
  /** Of days. */
  readonly timeZone?: string | undefined
}

/** What a client writes after the operator. */
interface OperandType<Value> {
  /**
   * A `value` of the field is shown on pages as the field is, all others as they were sent. What is a `search` counts
   * as a pattern, and cannot be in the filter of a state.
   */
  readonly kind: 'value' | 'search' | 'other'
  read (field: Field, text: string, reading: OperandReading): ReadResult<Value>
}

/** One operator of filters. Everything else about it is derived: parsing, documents, pages, messages. */
export interface Operator<Value = unknown> {
  suits (field: Field): boolean
  readonly operand: OperandType<Value>
  /**
   * The conditions for a storage: one of the lists must hold, with all its conditions.
   * @param operands of a repeated parameter, in the order sent
   */
  lower (field: Field, operands: readonly Value[]): FieldCondition[][]
  /** In English, for a page. */
  phrase (label: string, operand: string): string
  /** Instead of `price.gte`, such as `min-price`. */
  shorten? (name: string): string
  /** Of the id, a name without that of the field. It is in `reservedNames`. */
  readonly ofId?: string
  /** Between a field and a value, such as `price>=5`. */
  readonly sign?: '>' | '>=' | '<' | '<='
  /** The schema of the operand, for documents. They only mention the operator if there is none. */
  document? (field: Field): TSchema | undefined
}

/** An operator that storages know. Conditions that are written in code have it, too. */
interface Primitive<Member = string> extends Operator {
  readonly condition: ConditionForm<Member>
}

interface ConditionForm<Member = string> {
  /** The member with the operands. */
  readonly member: Member
  readonly isList: boolean
  /** Of one operand: the rest of a sentence that begins with the condition. */
  findFlaw (field: Field, value: unknown, limits: PatternSizes): string | undefined
}

/** Infers the operands of `lower` from what `operand` reads. */
function define<Value, Form extends ConditionForm> (
  operator: Operator<Value> & { readonly condition: Form }
): Operator<Value> & { readonly condition: Form }
function define<Value> (operator: Operator<Value>): Operator<Value>
function define (operator: Operator): Operator {
  return operator
}

const valueOperand: OperandType<Operand> =
  { kind: 'value', read: (field, text, { timeZone }) => readOperand(field, text, timeZone) }
const textOperand: OperandType<string> =
  { kind: 'search', read: (_field, text, { limits }) => readWords(text, limits) }
const patternOperand: OperandType<string> =
  { kind: 'search', read: (_field, text, { limits }) => readPattern(text, limits) }
const flagOperand: OperandType<boolean> = { kind: 'other', read: (_field, text) => readBoolean(text) }

const isScalar = ({ kind }: Field): boolean => kind !== 'json'
const oneOrMore = (schema: TSchema): TSchema => Type.Union([schema, Type.Array(schema)])
// Texts have no useful bounds.
const documentBound = (field: Field): TSchema | undefined => isFreeText(field) ? undefined : describeValue(field)
const documentBoundOfId = (field: Field): TSchema | undefined => field.name === 'id' ? documentBound(field) : undefined

/** In the order in which messages name them. The compiler demands all that storages know. */
const allOperators = {
  eq: define({
    suits: isScalar,
    operand: valueOperand,
    lower: listEqual,
    condition: mustFit('values', true, fitsField),
    phrase: (label, value) => `${label}: ${value}`,
    shorten: name => name,
    document (field) {
      // Moments are rarely equal.
      if (field.kind === 'date-time') return undefined
      // Clients get one type for a value or a list; both are sent by the same name, once or repeated.
      return field.kind === 'boolean' ? describeValue(field) : oneOrMore(describeValue(field))
    }
  }),
  ne: define({
    suits: isScalar,
    operand: valueOperand,
    lower: listUnequal,
    condition: mustFit('values', true, fitsField),
    phrase: (label, value) => `${label} is not ${value}`
  }),
  gt: defineBound('gt', {
    sign: '>', ofId: 'gt', phrase: (label, value) => `${label} above ${value}`, document: documentBoundOfId
  }),
  gte: defineBound('gte', {
    sign: '>=',
    ofId: 'min',
    phrase: (label, value) => `${label} from ${value}`,
    shorten: name => `min-${name}`,
    document: documentBound
  }),
  lt: defineBound('lt', {
    sign: '<', ofId: 'lt', phrase: (label, value) => `${label} below ${value}`, document: documentBoundOfId
  }),
  lte: defineBound('lte', {
    sign: '<=',
    ofId: 'max',
    phrase: (label, value) => `${label} to ${value}`,
    shorten: name => `max-${name}`,
    document: documentBound
  }),
  regex: define({
    suits: isScalar,
    operand: patternOperand,
    lower: ({ name: field }, patterns) => [[{ field, op: 'regex', patterns }]],
    condition: mustBeSearch('patterns', 'pattern', readPattern),
    phrase: (label, pattern) => `${label} matches ${pattern}`
  }),
  has: define({
    suits: isScalar,
    operand: textOperand,
    lower: ({ name: field }, texts) => [[{ field, op: 'has', texts }]],
    condition: mustBeSearch('texts', 'text', readWords),
    phrase: (label, text) => `${label} contains ${text}`,
    document: field => isFreeText(field) ? oneOrMore(Type.String()) : undefined
  }),
  null: define({
    suits: ({ optional, nullable }) => optional || nullable === true,
    operand: flagOperand,
    lower: ({ name: field }, flags) => [...new Set(flags)].map(is => [{ field, op: 'null', is }]),
    condition: mustFit('is', false, (_field, value) => typeof value === 'boolean'),
    phrase: (label, isNull) => `${label} is ${isNull === 'true' ? 'not set' : 'set'}`,
    document: () => Type.Boolean()
  })
} satisfies Readonly<Record<string, Operator>> &
  { readonly [Op in FieldCondition['op']]: Primitive<Exclude<keyof ConditionOf<Op>, 'field' | 'op'>> }

/** An operator of filters, as in `price.gte`. */
export type OperatorName = keyof typeof allOperators

export const operators: Readonly<Record<OperatorName, Operator>> = allOperators

/** Those of conditions in code. */
export const primitives: Readonly<Record<FieldCondition['op'], Primitive>> = allOperators

export const operatorNames = Object.keys(allOperators) as readonly OperatorName[]

export const primitiveNames = operatorNames.filter((name): name is FieldCondition['op'] =>
  'condition' in allOperators[name])

function defineBound (op: Bound['op'], own: Pick<Operator, 'phrase' | 'sign' | 'ofId' | 'shorten' | 'document'>) {
  return define({
    suits: isOrdered,
    operand: valueOperand,
    // Of alternatives, the least lower bound, or the greatest upper one, decides: one bound can use an index.
    lower: ({ name }, operands) => [[operands.map(operand => toBound(name, op, operand)).reduce(chooseWider)]],
    condition: mustFit('value', false, fitsField),
    ...own
  })
}

function mustFit<Member extends string> (
  member: Member, isList: boolean, fits: (field: Field, value: unknown) => boolean
): ConditionForm<Member> {
  const flaw = `whose "${member}" does not fit the field`
  return { member, isList, findFlaw: (field, value) => fits(field, value) ? undefined : flaw }
}

function mustBeSearch<Member extends string> (
  member: Member, what: string, read: (text: string, limits: PatternSizes) => ReadResult<string>
): ConditionForm<Member> {
  return {
    member,
    isList: true,
    findFlaw (_field, value, limits) {
      const result = typeof value === 'string' ? read(value, limits) : { expected: 'must be a string' }
      return 'expected' in result ? `with a ${what} that ${result.expected}` : undefined
    }
  }
}

function listEqual ({ name: field }: Field, operands: readonly Operand[]): FieldCondition[][] {
  const { values, days } = splitOperands(operands)
  const within = days.map(({ from, before }): FieldCondition[] =>
    [{ field, op: 'gte', value: from }, { field, op: 'lt', value: before }])
  return values.length === 0 ? within : [[{ field, op: 'eq', values }], ...within]
}

function listUnequal ({ name: field, optional, nullable }: Field, operands: readonly Operand[]): FieldCondition[][] {
  const { values, days } = splitOperands(operands)
  const others: FieldCondition[] = values.length === 0 ? [] : [{ field, op: 'ne', values }]
  if (days.length === 0) return [others]
  const gaps: FieldCondition[][] = optional || nullable === true ? [[{ field, op: 'null', is: true }]] : []
  let lower: FieldCondition[] = []
  for (const { from, before } of days.sort((a, b) => compareScalars(a.from, b.from))) {
    gaps.push([...lower, { field, op: 'lt', value: from }, ...others])
    lower = [{ field, op: 'gte', value: before }]
  }
  return [...gaps, [...lower, ...others]]
}

function splitOperands (operands: readonly Operand[]): { values: Scalar[], days: Day[] } {
  const values: Scalar[] = []
  const days: Day[] = []
  for (const operand of operands) {
    if (typeof operand !== 'object') values.push(operand)
    // A day that a time zone skipped has no length, and begins with the next.
    else if (!days.some(({ from, before }) => from === operand.from && before === operand.before)) days.push(operand)
  }
  return { values, days }
}

function toBound (field: string, op: Bound['op'], operand: Operand): Bound {
  if (typeof operand !== 'object') return { field, op, value: operand }
  const { from, before } = operand
  // After a day means from the next day; up to a day means before the next.
  if (op === 'gt') return { field, op: 'gte', value: before }
  return op === 'lte' ? { field, op: 'lt', value: before } : { field, op, value: from }
}

function chooseWider (a: Bound, b: Bound): Bound {
  const order = compareScalars(a.value, b.value)
  if (order === 0) return a.op.endsWith('e') ? a : b
  return (order < 0) === a.op.startsWith('g') ? a : b
}
