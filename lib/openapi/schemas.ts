import { type ActionModel, type JsonSchema, problemCodes } from '../exports.js'
import type { DocumentPart } from './document-part.js'

type Properties = Readonly<Record<string, JsonSchema>>

/** An object whose members are required, but for those of the second kind. */
export function objectOf (required: Properties, optional: Properties = {}, more: JsonSchema = {}): JsonSchema {
  const names = Object.keys(required)
  return {
    ...more,
    type: 'object',
    properties: { ...required, ...optional },
    ...names.length > 0 && { required: names }
  }
}

export const strict: JsonSchema = { additionalProperties: false }

export const linkSchema: JsonSchema = { type: 'string', format: 'uri-reference' }

export const textSchema = (description?: string): JsonSchema => ({ type: 'string', ...description && { description } })

/** `LineItem` for `line-item`. */
export function toSchemaName ({ model: { singular } }: DocumentPart): string {
  return toPascalCase(singular)
}

function toPascalCase (words: string): string {
  return words.split(/[^A-Za-z0-9]+/).map(word => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

export function describeItemId ({ model: { item } }: DocumentPart): JsonSchema {
  const { examples, description, ...id } = item.properties?.id as JsonSchema
  return id
}

/** Members that refer to other items may be ids or, with `expand`, items. */
export function describeListedItem (part: DocumentPart): JsonSchema {
  const item = describePlainItem(part)
  const expanded = describeExpanded(part)
  return expanded === undefined ? item : { anyOf: [item, expanded] }
}

export function describeLinkedItem (part: DocumentPart): JsonSchema {
  return addItemLinks(part, `Linked${toSchemaName(part)}`, describePlainItem(part))
}

export function describeReadItem (part: DocumentPart): JsonSchema {
  const linked = describeLinkedItem(part)
  const expanded = describeExpanded(part)
  if (expanded === undefined) return linked
  return { anyOf: [linked, addItemLinks(part, `ExpandedLinked${toSchemaName(part)}`, expanded)] }
}

function describePlainItem (part: DocumentPart): JsonSchema {
  return part.name(toSchemaName(part), part.model.item)
}

function addItemLinks (part: DocumentPart, name: string, item: JsonSchema): JsonSchema {
  return part.name(name, { allOf: [item, objectOf({ links: describeItemLinks(part) })] })
}

/** Undefined if no item that it refers to can be shown in it. */
function describeExpanded (part: DocumentPart): JsonSchema | undefined {
  const { mount, model: { references, pathReferences, item: { properties, required } } } = part
  let expanded: JsonSchema = { type: 'object', properties, required }
  let isExpanded = false
  for (const [path, name] of Object.entries({ ...references, ...pathReferences })) {
    const there = mount.beside(name)?.model
    if (there === undefined) continue
    const other = part.name(toPascalCase(there.singular), there.item)
    expanded = replaceAt(expanded, path.split('.'), id => ({ anyOf: [id, other] }))
    isExpanded = true
  }
  return isExpanded ? part.name(`Expanded${toSchemaName(part)}`, expanded) : undefined
}

/** The schema with another one where a path leads, be it through lists, or through what may be null. */
function replaceAt (
  schema: JsonSchema, [name, ...rest]: readonly string[], replace: (schema: JsonSchema) => JsonSchema
): JsonSchema {
  const { properties = {} } = schema
  const property = name === undefined || !Object.hasOwn(properties, name) ? undefined : properties[name]
  if (name === undefined || property === undefined) return schema
  const enter = (each: JsonSchema): JsonSchema => {
    const { anyOf, items } = each as { readonly anyOf?: readonly JsonSchema[], readonly items?: JsonSchema }
    if (items !== undefined) return { ...each, items: enter(items) }
    const isNested = rest.length > 0 || anyOf?.some(({ items: its }) => its !== undefined) === true
    if (anyOf !== undefined && isNested) return { ...each, anyOf: anyOf.map(enter) }
    if (each.type === 'null') return each
    return rest.length === 0 ? replace(each) : replaceAt(each, rest, replace)
  }
  return { ...schema, properties: { ...properties, [name]: enter(property) } }
}

const pastLinks = { current: linkSchema, prev: linkSchema, next: linkSchema }

export function describeItemLinks (part: DocumentPart): JsonSchema {
  const { references, isWritable } = part.model
  const referred = Object.fromEntries(Object.keys(references).map(field => [field, linkSchema]))
  return part.name(`${toSchemaName(part)}Links`, objectOf({
    self: linkSchema, collection: linkSchema, ...isWritable && { log: linkSchema }
    // An item as it was has no operations.
  }, { ...referred, ...isWritable && { operations: linkSchema, ...pastLinks } }))
}

export function findAction ({ model: { actions } }: DocumentPart, wanted: string | undefined): ActionModel | undefined {
  return actions.find(({ action }) => action === wanted)
}

/** Operations and edits. */
export function listOperationModels ({ model: { actions } }: DocumentPart): ActionModel[] {
  return actions.filter(({ kind }) => kind === 'operation' || kind === 'edit')
}

/** Those of items that exist. */
export function listItemActions ({ model: { actions } }: DocumentPart): ActionModel[] {
  return actions.filter(({ kind }) => kind !== 'create')
}

export function describeParams (part: DocumentPart, { kind, action, params }: ActionModel): JsonSchema {
  return part.name(kind === 'create' ? `New${toSchemaName(part)}` : `${action}Params`, params)
}

/** The parameters with the id of the item. */
export function describeProperties (part: DocumentPart, model: ActionModel): JsonSchema {
  const { kind, action, params: { properties, required = [], ...params } } = model
  if (kind === 'create') return describeParams(part, model)
  return part.name(`${action}Properties`, {
    ...params, properties: { id: part.model.id, ...properties }, required: ['id', ...required]
  })
}

export function describeActions (part: DocumentPart, end: 'Action' | 'Command', others: Properties = {}): JsonSchema[] {
  return listOperationModels(part).map(model => {
    const { action, params: { required = [] } } = model
    const params = { params: describeParams(part, model) }
    const named = { ...others, action: { const: action, type: 'string' } }
    const schema = required.length > 0 ? objectOf({ ...named, ...params }, {}, strict) : objectOf(named, params, strict)
    return part.name(action + end, schema)
  })
}

/** Any action with its parameters, as `update` and the commands send it. */
export function describeAction (part: DocumentPart): JsonSchema {
  return part.name(`${toSchemaName(part)}Action`, joinSchemas(describeActions(part, 'Action')))
}

/** One of them. */
export function joinSchemas (schemas: readonly JsonSchema[]): JsonSchema {
  return schemas.length === 1 ? schemas[0] as JsonSchema : { anyOf: schemas }
}

/** Members of an item: absent ones stay, so that none has a default. */
export function describeChanges (part: DocumentPart): JsonSchema {
  const { item, actions } = part.model
  const members = Object.entries(item.properties ?? {}).map(([name, { default: _, ...member }]) => [name, member])
  const edited = actions.find(({ kind }) => kind === 'edit')?.params.properties
  const changes = { ...Object.fromEntries(members), ...edited, links: describeItemLinks(part) }
  return part.name(`${toSchemaName(part)}Changes`, objectOf({}, changes))
}

export function describeLogEntry (part: DocumentPart): JsonSchema {
  return part.name(`${toSchemaName(part)}Entry`, describeMembers(part))
}

export function describeCommand (part: DocumentPart): JsonSchema {
  const links = objectOf({ self: linkSchema, [part.model.singular]: linkSchema }, { revision: linkSchema })
  return part.name(`${toSchemaName(part)}Command`, describeMembers(part, links))
}

/** A command that changed nothing is only in the log if the client chose its id. */
export function describeUnchanged (part: DocumentPart): JsonSchema {
  const links = objectOf({ [part.model.singular]: linkSchema }, { self: linkSchema })
  return part.name(`Unchanged${toSchemaName(part)}`, describeMembers(part, links, true))
}

/** The members of all commands are one schema. */
function describeMembers (part: DocumentPart, links?: JsonSchema, isUnchanged = false): JsonSchema {
  const { singular, entry: { required = [], properties: { id = {}, [singular]: _, ...members } = {} } } = part.model
  const named = { [singular]: describeItemId(part), ...links && { links } }
  const own = isUnchanged ? objectOf(named, { id }) : objectOf({ id, ...named })
  const ofAll = { type: 'object', properties: members, required: required.filter(name => Object.hasOwn(members, name)) }
  return { allOf: [own, part.name('CommandMembers', ofAll)] }
}

const commandId: JsonSchema = { type: 'string', description: 'The id of the command', examples: ['order-17-hold'] }

export function describeCommandId ({ model: { command: { pattern } } }: DocumentPart): JsonSchema {
  return { ...commandId, pattern }
}

/** As one of many. */
export function describeSent (part: DocumentPart): JsonSchema[] {
  const { singular, actions } = part.model
  const changes = listItemActions(part)
  const id = { id: describeCommandId(part) }
  const name = (name: string, schema: JsonSchema): JsonSchema => part.name(`Sent${name}`, schema)
  const sent = changes.length === 0
    ? []
    : [name(`${toSchemaName(part)}Command`, objectOf({
        [singular]: describeItemId(part), action: { type: 'string', enum: changes.map(({ action }) => action) }
      }, {
        ...id,
        params: { anyOf: changes.map(model => describeParams(part, model)) },
        revision: { type: 'integer', description: 'The revision you know' }
      }, strict))]
  const creation = actions.find(({ kind }) => kind === 'create')
  if (creation === undefined) return sent
  const { action } = creation
  const params = describeParams(part, creation)
  return [...sent, name(action, objectOf({ action: { const: action, type: 'string' }, params }, id, strict))]
}

export function describeSentResult (part: DocumentPart): JsonSchema {
  return part.name(`${toSchemaName(part)}Result`, objectOf({
    status: { type: 'integer', description: 'As of the command alone' }
  }, {
    replayed: { type: 'boolean', description: 'Whether it ran before' },
    command: describeCommand(part),
    item: describeLinkedItem(part),
    problem: referToProblem(part)
  }))
}

/** The members of all pages but the items are one schema. */
export function describePage (part: DocumentPart, items: JsonSchema): JsonSchema {
  const total = { type: 'integer', minimum: 0, description: 'With count=exact: the number of items on all pages' }
  const links = objectOf(
    { self: linkSchema, first: linkSchema }, { next: linkSchema, prev: linkSchema, follow: linkSchema })
  const positive = { type: 'integer', minimum: 1 }
  const members = part.name('ListMembers', objectOf({ page: positive, pageSize: positive, links }, { total }))
  return { allOf: [objectOf({ items: { type: 'array', items } }), members] }
}

export function describeOffers (part: DocumentPart): JsonSchema {
  const operation = part.name('OperationOffer', objectOf({
    name: textSchema(),
    action: textSchema('The action, for update and the commands'),
    summary: textSchema(),
    params: { type: 'object', description: 'A JSON Schema of the parameters' },
    allowed: { type: 'boolean', description: 'Whether the state allows it now' }
  }, {
    method: textSchema('The HTTP method'),
    href: textSchema('The URL'),
    form: textSchema('The form of the request: update takes { action, params }, the others only the params'),
    reason: textSchema('Why the state does not allow it')
  }))
  return part.name(`${toSchemaName(part)}Operations`, objectOf({
    items: { type: 'array', items: operation },
    links: objectOf({ self: linkSchema, [part.model.singular]: linkSchema })
  }))
}

export function describeHome (part: DocumentPart): JsonSchema {
  const counts = {
    total: { type: 'integer', minimum: 0 },
    atLeast: { type: 'integer', description: 'Instead of total, if there are more' }
  }
  const links = objectOf({ list: linkSchema })
  const state = objectOf({ state: textSchema(), links }, counts)
  const family = objectOf({ name: textSchema(), links }, {
    version: textSchema(),
    ...counts,
    states: { type: 'array', items: state, description: 'If items of the family have states' }
  })
  return part.name('Home', objectOf({
    families: { type: 'array', items: family }, links: objectOf({ self: linkSchema })
  }))
}

export function referToProblem (part: DocumentPart): JsonSchema {
  return part.name('Problem', problemSchema)
}

const problemSchema = objectOf({
  type: { type: 'string', enum: Object.keys(problemCodes).map(code => `urn:dealbook:problem:${code}`) },
  title: textSchema(),
  status: { type: 'integer' },
  detail: textSchema('What is wrong, and what is allowed')
}, {
  instance: textSchema('The path of the request'),
  errors: {
    type: 'array',
    items: objectOf({ detail: textSchema() }, {
      parameter: textSchema('The query parameter that is wrong'),
      pointer: textSchema('The JSON pointer of the member that is wrong')
    })
  },
  more: { type: 'integer', description: 'How many flaws there are besides those in errors' },
  state: textSchema('Where the state does not allow it: the state'),
  operation: textSchema('The operation that the state does not allow'),
  allowed: { type: 'array', items: textSchema(), description: 'The operations that are allowed in it' },
  revision: { type: 'integer', description: 'Where the precondition does not hold: the current revision' },
  family: textSchema('Where something refers to it: the family of that')
})
