// What hosts import, besides families and pages: those stand on it themselves.
export type { Static } from '@sinclair/typebox'
export { errorCodes } from './core/errors.js'
export type {
  AttributeForm, AttributeReading, ConstraintText, Context, CreateDefinition, CreateOf, DefinedOperation,
  EditDefinition, EditOf, Facts, FamilyDefinition, FieldName, ItemAndOthers, Lookups, MadeItems, OpenOperation,
  Operation, OperationParams, Preparation, QueryDefinition, Renamed
} from './core/family/definition.js'
export type {
  AnyFamily, ContextItems, FamilyTypes, FieldsOf, IdOf, ItemIn, ItemOf, ItemsAtCreation, OtherItem, ServiceMembers
} from './core/family/types.js'
export type { Labels, OperationLabel, StateDefinition, Tone } from './core/family/presentation.js'
export { shapeOf } from './core/family/family.js'
export type { FamilyExtension } from './core/family/extension.js'
export { decimal, Type } from './core/family/type.js'
export type { DecimalOptions, TypeBuilder } from './core/family/type.js'
export type { FormName } from './http/forms/forms.js'
export type { Count } from './http/reads/home.js'
export type { Book, Offer, Preview } from './core/book/book.js'
export { describe } from './core/book/describe.js'
export type { ActionModel, FamilyModel, JsonSchema, QueryModel, StateModel } from './core/book/describe.js'
export { prepareFront } from './http/front.js'
export type { FrontOptions } from './http/front.js'
export { findMounts } from './http/plugin/mounts.js'
export { describeProblems } from './http/plugin/problems.js'
export type { MountProblems, ProblemExamples } from './http/plugin/problems.js'
export { explainError } from './http/reply.js'
export { readIdempotencyKey } from './http/request.js'
export { makeValidator } from './core/values/validate.js'
export type { Validator } from './core/values/validate.js'
export type { FamilyPlugin, MountHook } from './http/plugin/define-family.js'
export type { FamilyOptions } from './http/plugin/options.js'
export { invalidBody, Problem, problemCodes } from './core/problems.js'
export type { Flaw, ProblemCode, ProblemOptions } from './core/problems.js'
export { csv, json, ndjson, xml } from './representations/formats.js'
export type { OperatorName } from './core/query/operators.js'
export type {
  OneView, PageView, ProblemView, Representation, Rows, SubmitTarget, Target, View
} from './representations/representation.js'
export { canShow } from './representations/representation.js'
export type { Aim, FamilyMount, RouteModel, RouteTarget, SentForm } from './representations/target.js'
export type { Committed, Grant, Granted, Intent } from './core/service/caller.js'
export type {
  BookCommand, CallOptions, CreateOptions, Done, FindOptions, FollowedCommand, FollowOptions, GetOptions, LoggedCommand,
  RunAllOptions, RunOptions, Service, ServiceOptions
} from './core/service/service.js'
export { checkHealth, readMetrics } from './core/service/storage-access.js'
export type { Health } from './core/service/storage-access.js'
export {
  BusyError, checkChanges, ConflictError, ConstraintError, DuplicateError, ReadOnlyError
} from './core/storage/storage.js'
export type {
  AnyCondition, Change, Condition, ConstraintOptions, ConstraintRule, FamilyShape, Field, FieldCondition, Found,
  FoundText, Id, ItemKey, Kind, Order, Query, Scalar, Storage, StorageReads, Stored
} from './core/storage/storage.js'
export { KeyRules } from './storage/key-rules.js'
export type { KeptItems } from './storage/key-rules.js'
export { matcher } from './core/storage/conditions.js'
export { memoryStorage } from './storage/memory/memory-storage.js'
export type { MemoryOptions } from './storage/memory/memory-storage.js'
export { pageOf } from './core/storage/pages.js'
export { completer } from './core/storage/shapes.js'
export type { ItemPage, PageOptions } from './core/query/grammar.js'
export type { MemberFlaw, Members } from './core/values/json.js'
export { didYouMean } from './core/values/words.js'
export type { TextTransform } from './core/values/formats.js'
