// What hosts import, besides families and pages: those stand on it themselves.
export type { Static } from '@sinclair/typebox'
export { errorCodes } from './core/errors.js'
export type { Context, Facts, Lookups, Preparation } from './core/family/context.js'
export type { CreateDefinition, CreateOf } from './core/family/creation.js'
export type {
  AttributeForm, AttributeReading, ConstraintText, DefinedOperation, EditDefinition, EditOf, FamilyDefinition,
  FieldName, OpenOperation, Operation, OperationParams, QueryDefinition, RemoveDefinition,
  RevertDefinition
} from './core/family/definition.js'
export type {
  AnyFamily, ContextItems, FamilyTypes, FieldsOf, IdOf, ItemAndOthers, ItemIn, ItemOf, ItemsAtCreation, MadeItems,
  OtherItem, OtherItemList, ServiceMembers
} from './core/family/types.js'
export type { Labels, OperationLabel, StateDefinition, Tone } from './core/family/presentation.js'
export type { Renamed } from './core/family/renamed-types.js'
export { shapeOf } from './core/family/family.js'
export type { FamilyExtension } from './core/definitions/extension.js'
export { decimal, Type } from './core/family/type.js'
export type { DecimalOptions, TypeBuilder } from './core/family/type.js'
export type { FormName } from './http/forms/forms.js'
export type { Count, CountedFamily } from './http/reads/home.js'
export { readFresh } from './http/reads/read.js'
export type { Book, Offer, Preview } from './core/book/book.js'
export { describe } from './core/book/describe.js'
export type { ActionModel, FamilyModel, JsonSchema, QueryModel, StateModel } from './core/book/describe.js'
export { listRows } from './http/form-values.js'
export { prepareFront } from './http/front.js'
export type { FrontOptions } from './http/front.js'
export { findChanges, previewForm, runForm, runOneOf } from './http/responding/commands.js'
export type { FormCommand, FormPreview, PreviewedItem, RanCommand } from './http/responding/commands.js'
export { findNewestCommands, loadFeed } from './http/responding/feed.js'
export type { Activity, LoadedFeed } from './http/responding/feed.js'
export {
  describeForm, describeItem, findStateReason, makeSampleParams, prefillParams, readFormParams
} from './http/responding/forms.js'
export type { FormInput, FormModel } from './http/responding/forms.js'
export { findUsedFilters, phraseFilter, readListQuery, refuseListParameters } from './http/responding/queries.js'
export type { Listed, ListQuery, UsedFilter } from './http/responding/queries.js'
export { mayList, openReading } from './http/responding/reading.js'
export type { ItemOffer, LogRecord, ReadIntent, Reading } from './http/responding/reading.js'
export { checkRevision, findForm, sendPage } from './http/responding/responding.js'
export type { Responding } from './http/responding/responding.js'
export {
  findActionAddress, loadCommand, loadEntry, loadFamilies, loadList, loadLog, loadOperations, loadQueryList
} from './http/responding/views.js'
export type { LoadedCommand, LoadedHome, LoadedPage } from './http/responding/views.js'
export { findMounts } from './http/plugin/mounts.js'
export { describeProblems } from './http/plugin/problems.js'
export type { MountProblems, ProblemExamples } from './http/plugin/problems.js'
export { explainError } from './http/reply.js'
export { readIdempotencyKey } from './http/request.js'
export { makeValidator } from './core/values/validate.js'
export type { Validator } from './core/values/validate.js'
export type { FamilyPlugin, MountHook } from './http/plugin/define-family.js'
export type { FamilyOptions } from './http/plugin/options.js'
export { invalidBody, invalidQuery, notFound, Problem, problemCodes } from './core/problems.js'
export type { Flaw, ProblemCode, ProblemOptions, QueryFlaw } from './core/problems.js'
export { csv, json, ndjson, xml } from './representations/formats.js'
export type { OperatorName } from './core/query/operators.js'
export type {
  OneView, PageView, ProblemView, Representation, Rows, SubmitTarget, Target, View
} from './representations/representation.js'
export { canShow, writeInTurns } from './representations/representation.js'
export type { Aim, FamilyMount, RouteModel, RouteTarget, SentForm } from './representations/target.js'
export type { FieldChange, FieldChanges } from './core/family/changes.js'
export type { PastItem } from './core/service/reader.js'
export type { StateReason } from './core/service/refusal.js'
export type { Committed, Grant, Granted, Hidable, Intent } from './core/service/caller.js'
export type {
  BookCommand, CallOptions, CreateOptions, Done, FindOptions, FollowedCommand, FollowOptions, GetOptions, LoggedCommand,
  RunAllOptions, RunOptions, Service, ServiceOptions
} from './core/service/service.js'
export { checkHealth, readMetrics } from './core/service/storage-access.js'
export type { Health } from './core/service/storage-access.js'
export {
  BusyError, checkChanges, ConflictError, ConstraintError, DuplicateError, isExpected, ReadOnlyError
} from './core/storage/storage.js'
export type {
  AnyCondition, Change, Condition, ConstraintOptions, ConstraintRule, FamilyShape, Field, FieldCondition, Found,
  FoundText, Id, ItemKey, Kind, Order, Query, Scalar, Storage, StorageReads, Stored
} from './core/storage/storage.js'
export { hasAtPath, KeyRules } from './storage/key-rules.js'
export type { KeptItems } from './storage/key-rules.js'
export { chainShape, checkEntry, linkEntry, sealEntry } from './core/storage/chain.js'
export { matcher } from './core/storage/conditions.js'
export { memoryStorage } from './storage/memory/memory-storage.js'
export type { MemoryOptions } from './storage/memory/memory-storage.js'
export { pageOf } from './core/storage/pages.js'
export { completer } from './core/storage/shapes.js'
export { isAmount, readAmount, writeAmount } from './core/query/amounts.js'
export { makePageUrl, startParameters } from './core/query/grammar.js'
export type { ItemPage, PageLinks, PageOptions } from './core/query/grammar.js'
export { splitMoment } from './core/query/moment.js'
export type { Moment } from './core/query/moment.js'
export { splitQuery } from './core/query/query-string.js'
export type { Parameter } from './core/query/query-string.js'
export { isTimeZone, toLocal } from './core/query/time-zones.js'
export { isOrdered } from './core/query/values.js'
export type { MemberFlaw, Members } from './core/values/json.js'
export { didYouMean, shorten } from './core/values/words.js'
export { isDate, readDateTime } from './core/values/formats.js'
export type { TextTransform } from './core/values/formats.js'
