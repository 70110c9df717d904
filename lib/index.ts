export { Type } from '@sinclair/typebox'
export type { Static } from '@sinclair/typebox'
export { customers } from './customers.js'
export { dealbook, dealbook as default } from './dealbook.js'
export type { DealbookOptions } from './dealbook.js'
export { deals } from './deals/deals.js'
export { defineOperation } from './deals/deal.js'
export type { Deal } from './deals/deal.js'
export { errorCodes } from './core/errors.js'
export type {
  AttributeForm, AttributeReading, EditDefinition, EditOf, FamilyDefinition, FieldName, ItemOf, OperationParams,
  QueryDefinition, ServiceMembers
} from './core/family/definition.js'
export type { FamilyExtension } from './core/family/extension.js'
export type {
  AnyFamily, Context, DefinedOperation, ItemAndOthers, OpenOperation, Operation, OtherItem
} from './core/family/definition.js'
export type { FormName } from './http/forms/forms.js'
export { copyStorage } from './tools/copy-storage.js'
export type { CopyOptions, CopyProgress } from './tools/copy-storage.js'
export { defineFamily, defineQuery } from './http/plugin/define-family.js'
export type { FamilyPlugin } from './http/plugin/define-family.js'
export { loadItems } from './tools/load-items.js'
export type { LoadOptions } from './tools/load-items.js'
export type { FamilyOptions } from './http/plugin/options.js'
export { writeMigration } from './tools/maintenance.js'
export { Problem, problemCodes } from './core/problems.js'
export type { Flaw, ProblemCode, ProblemOptions } from './core/problems.js'
export type {
  ActiveFilter, Count, Crumb, Home, HomeFamily, ItemAffordances, Kinds, Link, PageAffordances, Site, SiteFamily
} from './representations/affordances.js'
export { representations } from './http/plugin/options.js'
export { csv } from './representations/formats.js'
export type { FormAffordance, FormField, Refusal } from './representations/affordances.js'
export { html } from './html/html.js'
export type { HtmlOptions } from './html/html.js'
export type { Texts } from './html/texts.js'
export type {
  ChangedItem, Confirmation, Feedback, LogEntry, SampleRequest, ShownChange, ShownKind, ShownMember,
  UnavailableOperation, WrongState
} from './representations/affordances.js'
export { json, ndjson } from './representations/formats.js'
export type { OneView, PageView, ProblemView, Representation, Rows, View } from './representations/representation.js'
export { xml } from './representations/formats.js'
export type { Committed, Grant, Granted, Intent } from './core/service/caller.js'
export { prune } from './tools/maintenance.js'
export type { PruneOptions } from './tools/maintenance.js'
export type {
  CallOptions, CreateOptions, Done, FindOptions, ItemPage, LoggedCommand, RunOptions, Service,
  ServiceOptions
} from './core/service/service.js'
export { checkHealth, readMetrics } from './core/service/watch.js'
export type { Health } from './core/service/watch.js'
export { checkChanges } from './core/storage/storage.js'
export type { AnyCondition, Condition, FieldCondition, Order, Scalar } from './core/storage/storage.js'
export { ConstraintError } from './core/storage/storage.js'
export type { ConstraintOptions, ConstraintRule } from './core/storage/storage.js'
export type { KeptItems } from './storage/key-rules.js'
export { KeyRules } from './storage/key-rules.js'
export { matcher } from './core/storage/conditions.js'
export { memoryStorage } from './storage/memory/memory-storage.js'
export type { MemoryOptions } from './storage/memory/memory-storage.js'
export { pageOf } from './core/storage/pages.js'
export { completer } from './core/storage/shapes.js'
export { BusyError, ConflictError, DuplicateError, ReadOnlyError } from './core/storage/storage.js'
export type {
  Change, FamilyShape, Field, Found, FoundText, Id, ItemKey, Kind, Query, Storage, Stored
} from './core/storage/storage.js'
export type { Members } from './core/values/json.js'
