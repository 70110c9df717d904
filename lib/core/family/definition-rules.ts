import type { TSchema } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import { membersOf, namedOf, rules, suchAs } from '../values/rules.js'
import type { AttributeForm, EditDefinition, FamilyDefinition, QueryDefinition } from './definition.js'
import type { Operation, OtherItem } from './operation.js'

type RulesOf<T> = Record<keyof T, TSchema>

const { any, callback, flag, object, word, words } = rules

const otherItem = membersOf({
  family: Type.Union([Type.String(), callback], {
    description: 'the name of this family, or another as defineFamily made it'
  }),
  id: suchAs(callback, 'params => params.to')
} satisfies RulesOf<OtherItem>, ['family', 'id'])

const operation = membersOf({
  name: suchAs(word, 'pay'),
  verb: suchAs(word, 'pay'),
  participle: suchAs(word, 'paid'),
  noun: suchAs(word, 'payments'),
  action: suchAs(word, 'PayInvoice'),
  summary: word,
  params: any,
  danger: flag,
  final: flag,
  changes: words,
  with: namedOf(otherItem, 'with'),
  allowed: callback,
  apply: suchAs(callback, 'invoice => ({ ...invoice, paid: true })')
} satisfies RulesOf<Operation>, ['name', 'verb', 'participle', 'noun', 'action', 'apply'])

const edit = membersOf({
  fields: suchAs(words, "['note']"),
  verb: word,
  participle: word,
  noun: word,
  action: word,
  allowed: callback
} satisfies RulesOf<EditDefinition<unknown>>, ['fields'])

const attributes = membersOf({
  fields: suchAs(words, "['paid']"),
  read: suchAs(callback, "() => ({ operation: 'pay', params: {} })")
} satisfies RulesOf<AttributeForm<unknown>>, ['fields', 'read'])

const query = membersOf({ field: suchAs(word, 'customer') } satisfies RulesOf<QueryDefinition>, ['field'])

const parts = {
  fields: any,
  create: words,
  initial: callback,
  operations: namedOf(operation, 'the operation'),
  edit: Type.Union([words, edit], { description: 'a list of names, or an object' }),
  attributes,
  state: callback,
  makeId: callback,
  order: words,
  title: word,
  list: words,
  indexes: Type.Array(Type.Union([word, words]), {
    description: 'a list of fields, or of rows of them, such as ["status"]'
  }),
  unique: Type.Array(words, { description: 'a list of rows of fields, such as [["number"]]' }),
  references: object,
  queries: namedOf(query, 'the query')
}

/** What the members of a definition must be. */
export const definitionRule = membersOf({
  name: suchAs(word, 'invoices'),
  singular: suchAs(word, 'invoice'),
  ...parts,
  versioned: flag
} satisfies RulesOf<FamilyDefinition>, ['name', 'singular'])

/** The same of an extension. */
export const extensionRule = membersOf(parts)
