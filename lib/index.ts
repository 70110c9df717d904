export { Type } from '@sinclair/typebox'
export type { Static } from '@sinclair/typebox'
export { customers } from './customers.js'
export { dealbook, dealbook as default } from './dealbook.js'
export type { DealbookOptions } from './dealbook.js'
export { deals } from './deals/deals.js'
export type { Deal } from './deals/fields.js'
export { defineOperation } from './deals/operation.js'
export type { DefinedOperation, OpenOperation } from './deals/operation.js'
export { errorCodes } from './errors.js'
export type { AnyFamily } from './family/compiled.js'
export type {
  AttributeForm, AttributeReading, EditDefinition, EditOf, FamilyDefinition, FieldName, ItemOf, OperationParams,
  QueryDefinition, ServiceMembers
} from './family/definition.js'
export type { FamilyExtension } from './family/extension.js'
export type { Context, ItemAndOthers, Operation, OtherItem } from './family/operation.js'
export type { FormName } from './forms/forms.js'
export { copyStorage } from './plugin/copy-storage.js'
export type { CopyOptions, CopyProgress } from './plugin/copy-storage.js'
export { defineFamily, defineQuery } from './plugin/define-family.js'
export type { FamilyPlugin } from './plugin/define-family.js'
export { loadItems } from './plugin/load-items.js'
export type { LoadOptions } from './plugin/load-items.js'
export type { FamilyOptions } from './plugin/options.js'
export { writeMigration } from './plugin/write-migration.js'
export { Problem, problemCodes } from './problems.js'
export type { Flaw, ProblemCode, ProblemOptions } from './problems.js'
export type {
  ActiveFilter, Count, Crumb, FormAffordance, FormField, Home, HomeFamily, ItemAffordances, Kinds, Link,
  PageAffordances, Refusal, Site, SiteFamily
} from './representations/affordances.js'
export { representations } from './representations/all.js'
export { csv } from './representations/csv.js'
export { html } from './representations/html/html.js'
export type { ItemTexts } from './representations/html/item-texts.js'
export type { HtmlOptions } from './representations/html/layout.js'
export type { Texts } from './representations/html/texts.js'
export type {
  Confirmation, Feedback, LogEntry, SampleRequest, ShownChange, ShownMember, UnavailableOperation
} from './representations/item-view.js'
export { json, ndjson } from './representations/json.js'
export type { OneView, PageView, ProblemView, Representation, Rows, View } from './representations/representation.js'
export { xml } from './representations/xml.js'
export type { Committed, Grant, Granted, Intent } from './service/caller.js'
export { prune } from './service/prune.js'
export type { PruneOptions } from './service/prune.js'
export type {
  CallOptions, CreateOptions, Done, FindOptions, ItemPage, LoggedCommand, RunOptions, Service,
  ServiceOptions
} from './service/service.js'
export { checkHealth, readMetrics } from './service/watch.js'
export type { Health } from './service/watch.js'
export { checkChanges } from './storage/changes.js'
export type { AnyCondition, Condition, FieldCondition, Order, Scalar } from './storage/condition.js'
export { ConstraintError } from './storage/constraint-error.js'
export type { ConstraintOptions, ConstraintRule } from './storage/constraint-error.js'
export type { KeptItems } from './storage/key-rules.js'
export { KeyRules } from './storage/key-rules.js'
export { matcher } from './storage/match.js'
export { memoryStorage } from './storage/memory/memory-storage.js'
export type { MemoryOptions } from './storage/memory/memory-storage.js'
export { pageOf } from './storage/page.js'
export { completer } from './storage/shapes.js'
export { BusyError, ConflictError, DuplicateError, ReadOnlyError } from './storage/storage.js'
export type {
  Change, FamilyShape, Field, Found, FoundText, Id, ItemKey, Kind, Query, Storage, Stored
} from './storage/storage.js'
export type { Members } from './values/json.js'
