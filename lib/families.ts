import type { Static, TObject, TProperties } from '@sinclair/typebox'
import { describeFamily } from './core/book/describe.js'
import { makeService } from './core/book/make-service.js'
import { definitions } from './core/definitions/definitions.js'
import type {
  FamilyDefinition, FieldName, OperationParams, QueryDefinition
} from './core/family/definition.js'
import type { KnownFields, KnownResult } from './core/family/known-fields.js'
import type { ItemsAtCreation, NewItems } from './core/family/types.js'
import { html } from './html/html.js'
import { feedPart } from './http/feed/feed.js'
import { manyPart } from './http/many/many.js'
import { type FamilyPlugin, makeFamily, type MountHook } from './http/plugin/define-family.js'
import { openBook } from './http/plugin/open-book.js'
import { document } from './openapi/document.js'
import { csv, json, ndjson, xml } from './representations/formats.js'
import type { Representation } from './representations/representation.js'

// Here everything is put together that what makes a family does not know: formats, pages, documents, checks of
// definitions, books, the feed, many commands.
const parts = { definitions, describe: describeFamily, makeService, openBook, feed: feedPart, many: manyPart }

/**
 * The built-in representations; the first is the default.
 *
 * @example
 * app.register(customers, { storage, representations: [...representations, yaml] })
 */
export const representations: readonly Representation[] = [json, xml, html(), csv, ndjson]

/**
 * Makes a resource family: an encapsulated Fastify plugin that publishes its items.
 *
 * @example
 * const books = defineFamily({
 *   name: 'books', singular: 'book',
 *   fields: Type.Object({ id: Type.Integer(), title: Type.String(), year: Type.Integer() })
 * })
 * app.register(books, { storage, prefix: '/library' })   // GET /library/books?min-year=1990
 */
export function defineFamily<
  Fields extends TProperties, Params extends OperationParams = {}, Edited extends FieldName<Fields> = never,
  Created extends FieldName<Fields> | 'id' = never, Referred = {}, With = {}, Creates = {}, CreatedWith = {},
  RemovedWith = {}, Derived extends FieldName<Fields> = never, Sent extends TProperties = {}, CreatedNew = {},
  Given = {}, GivenInitial = {}
> (
  definition: FamilyDefinition<
    Fields, Params, Edited, Created, Referred, With, Creates, CreatedWith, RemovedWith, Derived, Sent, CreatedNew
  > & MountHook & {
    readonly operations?: Given & KnownFields<Given, Fields, Params, With, Creates, Referred>
    readonly initial?: GivenInitial & KnownResult<
      GivenInitial, Static<TObject<Fields>>, ItemsAtCreation<Fields, CreatedWith, Referred, Sent>, NewItems<CreatedNew>
    >
  }
): FamilyPlugin<Fields, Params, {
  created: Created
  edited: Edited
  references: Referred
  with: CreatedWith
  sent: Sent
}> {
  // Internally, definitions are of no particular family; the types are for the host.
  return makeFamily(definition as unknown as FamilyDefinition, { ...parts, representations, document }) as never
}

/**
 * Declares a result of `GET /query/{result_name}/{parameter}`: the items whose field equals the parameter.
 *
 * @example
 * queries: { 'invoices-by-customer': defineQuery({ field: 'customer' }) }
 */
export function defineQuery<const Field extends string> (definition: QueryDefinition<Field>): QueryDefinition<Field> {
  return definition
}
