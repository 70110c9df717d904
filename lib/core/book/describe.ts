import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import { nameAction } from '../family/declared-operations.js'
import type { Operation } from '../family/definition.js'
import { type AnyFamily, type CompiledOperation, type Family, getFamily, listExpandable } from '../family/family.js'
import { CommandMembers, logFields, withoutNull } from '../family/fields.js'
import { principalName } from '../family/narrow.js'
import type { Labels, Tone } from '../family/presentation.js'
import { writeOrder } from '../query/cursor.js'
import { compileGrammar, type Grammar } from '../query/grammar.js'
import { type OperatorName, operatorNames, operators } from '../query/operators.js'
import { describeValue } from '../query/values.js'
import { programLimits } from '../service/arguments.js'
import { feedList, omitPrincipal } from '../service/record.js'
import type { Field, FieldCondition } from '../storage/storage.js'
import { textIdPattern } from '../values/ids.js'
import { addArticle } from '../values/words.js'
import { type ActionTarget, listActions } from './offers.js'

/** A JSON Schema. */
export interface JsonSchema {
  readonly type?: string | undefined
  readonly properties?: Readonly<Record<string, JsonSchema>> | undefined
  readonly required?: readonly string[] | undefined
  readonly [keyword: string]: unknown
}

/** Something that changes items: an operation, `create`, `edit` or `remove`. */
export interface ActionModel {
  /** The method of a book that does it: `run`, if it is an operation or `edit`. */
  readonly kind: 'create' | 'edit' | 'operation' | 'remove' | 'restore' | 'revert'
  /** As `run` and `runAll` have it. */
  readonly name: string
  /** As `authorize` and the log have it, such as `HoldDeal`. */
  readonly action: string
  /** The words in URLs, such as `hold`, `held` and `holds`. */
  readonly words: Readonly<Partial<Record<'verb' | 'participle' | 'noun', string>>>
  /** Default: such as `hold a deal`. */
  readonly summary: string
  /** The schema of its parameters. */
  readonly params: JsonSchema
  /** Whether omitted parameters leave the fields of the item unchanged. */
  readonly isPartial: boolean
  /** Whether the state of an item may refuse it. */
  readonly isConditional: boolean
  /** Whether it should be confirmed. */
  readonly danger: boolean
  /** Whether it cannot be undone. */
  readonly final: boolean
  /** The other items that it needs: their families by their names. */
  readonly with: Readonly<Record<string, string>>
  /** The items that it may create, one or a list of each: their families by their names. */
  readonly creates?: Readonly<Record<string, string>>
}

/** A state of items. */
export interface StateModel {
  readonly name: string
  readonly tone: Tone
  /** The query of a list that finds items in it. */
  readonly filter?: string
  /** What the filter means: all of them must hold. */
  readonly where?: readonly FieldCondition[]
}

/** A list that has a name: the items with one value of a field. */
export interface QueryModel {
  readonly field: string
  /** The schema of the value. */
  readonly value: JsonSchema
}

/** Everything about a family that a front end, a document or an agent needs: plain data, as JSON. */
export interface FamilyModel {
  readonly name: string
  readonly singular: string
  /** The schema of an item. */
  readonly item: JsonSchema
  /** `singular` with its article: `a deal`. */
  readonly one: string
  /** The schema of an id. */
  readonly id: JsonSchema
  /** The schema of a command id. */
  readonly command: JsonSchema
  /** The members of an item, in their order. */
  readonly members: readonly string[]
  /** The same with their kinds. */
  readonly fields: readonly Field[]
  /** The field whose value names an item to people. */
  readonly title: string
  /** The members that a list shows. */
  readonly list: readonly string[]
  /** The common filters of lists, and the schemas of their values. */
  readonly filters: Readonly<Record<string, JsonSchema>>
  /** The other parameters of lists, such as `sort`. */
  readonly parameters: Readonly<Record<string, JsonSchema>>
  /** The results of `/query`, by their names. */
  readonly queries: Readonly<Record<string, QueryModel>>
  /** Names of all filters. */
  readonly filterNames: readonly string[]
  /** The operators of filters, such as `ne`: each may follow the name of a field and a dot. */
  readonly operators: readonly string[]
  /** The fields that the parameter `search` looks in; empty if there is no such parameter. */
  readonly search: readonly string[]
  /** The default order, as in the parameter `sort`. */
  readonly order: string
  /** The values of the parameter `state`. */
  readonly stateNames: readonly string[]
  readonly states: readonly StateModel[]
  /** Whether items have a state, be it one of these or not. */
  readonly hasStates: boolean
  /** The families that fields refer to. */
  readonly references: Readonly<Record<string, string>>
  /** The same by the paths of ids within fields, such as `lines.product`: a path leads through lists. */
  readonly pathReferences: Readonly<Record<string, string>>
  /** The families of which items are created in lists, together with an item of this one or by its operations. */
  readonly children: readonly string[]
  /** The paths of fields and parameters that hold personal data. */
  readonly personal: readonly string[]
  /** The action in the log of an item whose personal data was erased. No client can send it. */
  readonly eraseAction: string
  readonly labels: Readonly<Record<string, Labels>>
  /** The members that a client can change without naming an operation. */
  readonly changeable: readonly string[]
  /** Whether items change, and so have a log. */
  readonly isWritable: boolean
  /** The schema of a command in the log. */
  readonly entry: JsonSchema
  /** The members of a command with their kinds, but for the one that names the item. */
  readonly entryFields: readonly Field[]
  /** The common filters of logs; `family` is only in those of several families. */
  readonly logFilters: Readonly<Record<string, JsonSchema>>
  /** Without reading. */
  readonly actions: readonly ActionModel[]
}

/**
 * Describes a family as plain data: for your own front ends, documents and tools.
 *
 * @example
 * describe(deals).actions.find(({ name }) => name === 'hold')?.params   // a JSON Schema
 */
export function describe (family: AnyFamily): FamilyModel {
  const own = getFamily(family)
  return describeFamily(own, compileGrammar({ ...own, references: listExpandable(own) }, programLimits))
}

export function describeFamily (family: Family, grammar: Grammar): FamilyModel {
  const { name, singular, schema, idSchema, members, presentation, writable, lifecycle, edit } = family
  const fieldsByName = new Map(family.fields.map(field => [field.name, field]))
  const { title, list, states, labels } = presentation
  const hidesPrincipal = family.hiding?.hidesPrincipal === true
  const actions = listActions(family)
  const model: FamilyModel = {
    name,
    singular,
    item: schema,
    one: addArticle(singular),
    id: idSchema,
    command: { type: 'string', pattern: textIdPattern },
    members,
    fields: family.fields,
    title,
    list,
    filters: describeFilters(grammar),
    parameters: describeParameters(family, grammar),
    queries: Object.fromEntries(Array.from(family.queries, ([name, { field }]) =>
      [name, { field, value: describeValue(fieldsByName.get(field) as Field) }])),
    filterNames: [...grammar.filters.keys()],
    operators: listOperators(grammar),
    search: grammar.search,
    order: writeOrder(grammar.order),
    stateNames: grammar.states,
    states: Array.from(states, ([name, { tone, filter, where }]) =>
      ({ name, tone, ...filter !== undefined && { filter }, ...where !== undefined && { where } })),
    hasStates: family.state !== undefined || states.size > 0,
    references: nameFamilies(family.references),
    pathReferences: nameFamilies(family.pathReferences),
    children: listChildren(family),
    personal: [...family.personal],
    eraseAction: nameAction('Erase', singular),
    labels,
    changeable: [...family.attributes?.fields ?? [], ...edit?.operation.changes ?? []],
    isWritable: writable,
    entry: describeEntry(family),
    entryFields: hidesPrincipal ? omitPrincipal({ fields: logFields }).fields : logFields,
    logFilters: describeLogFilters(hidesPrincipal),
    actions: actions.flatMap(({ kind, name, action, params, target }) => {
      if (kind === 'find' || kind === 'get') return []
      const own: Partial<ActionTarget & Pick<CompiledOperation, 'creates'>> = target ?? { ...lifecycle }
      const { operation = {}, others, creates = [] } = own
      const declared: Partial<Operation> = operation
      const { verb, participle, noun, allowed, danger = false, final = false } = declared
      const { summary = summarizeAction({ kind, name }, addArticle(singular)) } = declared
      return {
        kind,
        name,
        action,
        words: { ...verb && { verb }, ...participle && { participle }, ...noun && { noun } },
        summary,
        params: acceptNumbers(params?.schema as TObject),
        isPartial: params?.isPartial === true,
        isConditional: allowed !== undefined,
        danger,
        final,
        with: Object.fromEntries((others ?? []).map(other => [other.name, (other.family ?? family).name])),
        ...creates.length > 0 && { creates: Object.fromEntries(creates.map(({ name, family }) => [name, family.name])) }
      }
    })
  }
  // A copy: the schemas themselves are what checks use, and have symbols.
  return JSON.parse(JSON.stringify(model)) as FamilyModel
}

function listChildren ({ operations, lifecycle }: Family): readonly string[] {
  const created = [...operations.values(), lifecycle].flatMap(each => each?.creates ?? [])
  return [...new Set(created.filter(({ isList }) => isList).map(({ family }) => family.name))]
}

function nameFamilies (references: ReadonlyMap<string, Family>): Readonly<Record<string, string>> {
  return Object.fromEntries(Array.from(references, ([field, { name }]) => [field, name]))
}

function summarizeAction ({ kind, name }: Pick<ActionModel, 'kind' | 'name'>, one: string): string {
  if (kind === 'create') return `Create ${one}`
  return kind === 'remove' ? `Delete ${one}` : `${name} ${one}`
}

/** A decimal may be sent as a number. */
function acceptNumbers (schema: TObject): TObject {
  const decimals = Object.entries(schema.properties).filter(([, each]) => withoutNull(each).format === 'decimal')
  const either = decimals.map(([name, { description, anyOf, ...decimal }]) =>
    [name, { description, anyOf: [...anyOf ?? [decimal], { type: 'number' }] }])
  return { ...schema, properties: { ...schema.properties, ...Object.fromEntries(either) } }
}

function describeParameters (
  { members }: Family,
  { limits: { pageSize, maxPageSize }, order, references, states, search, filters }: Grammar
): Record<string, TSchema> {
  const state = Type.Unsafe<string>({ type: 'string', enum: states })
  const hasDays = [...filters.values()].some(({ field: { kind } }) => kind === 'date-time')
  const fields = references.join('|').replaceAll('.', '\\.')
  return {
    page: Type.Integer({ minimum: 1, default: 1, description: 'Page number' }),
    after: Type.String({ description: 'The start, from links.next' }),
    before: Type.String({ description: 'The end, from links.prev' }),
    maxpagesize: Type.Integer({ minimum: 1, default: pageSize, description: `At most ${maxPageSize}` }),
    sort: Type.String({ default: writeOrder(order), description: `Such as -${members.at(-1)},id` }),
    fields: Type.String({ description: 'Only these members, such as id' }),
    ...states.length > 0 && { state: Type.Union([state, Type.Array(state)], { description: 'The state' }) },
    ...search.length > 0 && { search: Type.String({ description: `Words, each in one of ${search.join(', ')}` }) },
    ...hasDays && { 'time-zone': Type.String({ description: 'Default: UTC', examples: ['Europe/Berlin'] }) },
    ...references.length > 0 && {
      expand: Type.String({
        pattern: `^(${fields})(,(${fields}))*$`,
        description: `Includes the items that these fields refer to: ${references.join(', ')}`
      })
    },
    count: Type.Literal('exact', { description: 'Adds total' })
  }
}

/** As `GET …/commands/{id}` shows it, without links. */
function describeEntry ({ singular, idSchema, hiding }: Family): TSchema {
  const { id, ...members } = CommandMembers.properties
  const { principal, chosenId, ...others } = members
  return Type.Object({ id, [singular]: idSchema, ...hiding?.hidesPrincipal === true ? others : members })
}

const commonInLogs = ['family', 'action', 'outcome', 'principal', 'min-createdAt', 'max-createdAt']

let logFilters: Readonly<Record<string, TSchema>> | undefined

/** The same for all families. */
function describeLogFilters (hidesPrincipal: boolean): Readonly<Record<string, TSchema>> {
  logFilters ??= Object.fromEntries(
    Object.entries(describeFilters(compileGrammar({ ...feedList, key: 'position' }, programLimits)))
      .filter(([name]) => commonInLogs.includes(name)))
  if (!hidesPrincipal) return logFilters
  const { [principalName]: _, ...others } = logFilters
  return others
}

const rare = ['revision', 'updatedAt']

function listOperators ({ filters }: Grammar): readonly OperatorName[] {
  const used = new Set(Array.from(filters.values(), ({ op }) => op))
  return operatorNames.filter(op => used.has(op))
}

/** Filters that have a shorter name (`.gte` is `min-`), or that few clients need, are only mentioned. */
function describeFilters ({ filters }: Grammar): Record<string, TSchema> {
  const described: Record<string, TSchema> = {}
  for (const [name, { field, op }] of filters) {
    const operator = operators[op]
    if (name.includes('.') && operator.shorten !== undefined) continue
    if ((field.name === 'id' && name !== 'id' && name.includes('id')) || rare.includes(field.name)) continue
    const schema = operator.document?.(field)
    if (schema !== undefined) described[name] = schema
  }
  // Every name that begins with or. is a parameter; the number of groups is not limited.
  described['or'] = Type.Unsafe<Record<string, string[]>>({
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string' } },
    description: 'Alternatives, as in or.id=1; more in or1., or2.'
  })
  return described
}
