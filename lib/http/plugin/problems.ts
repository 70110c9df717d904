import { isDeepStrictEqual } from 'node:util'
import type { Context } from '../../core/family/context.js'
import {
  type CompiledChange, type CompiledOperation, type Family, findPast, findReferred, getBase
} from '../../core/family/family.js'
import type { Params } from '../../core/family/params.js'
import {
  idReused, invalidBody, invalidQuery, notFound, nothingFound, pointToCommand, preconditionFailed, preconditionRequired,
  Problem, type ProblemCode, storageUnavailable
} from '../../core/problems.js'
import {
  explainConstraint, explainForbidden, explainInState, explainPast, refuseByConstraint, refuseInState
} from '../../core/service/refusal.js'
import { ConstraintError, type Field, type Id } from '../../core/storage/storage.js'
import { makeExample } from '../../core/values/example.js'
import { escapePointer, freeze, type Members } from '../../core/values/json.js'
import type { FamilyMount } from '../../representations/target.js'
import { type Mount, mountOf } from '../mount.js'
import { explainEnd } from '../routes.js'

/** Problems, each as it may be, by their codes. */
export type ProblemExamples = Readonly<Partial<Record<ProblemCode, Problem>>>

/** Problems with which a mount refuses requests. Besides them, any may be `storage-unavailable`. */
export interface MountProblems {
  /** Of every request. */
  readonly any: ProblemExamples
  /** Of the list, and of an item. */
  readonly list: ProblemExamples
  readonly item: ProblemExamples
  /** Of what changes items, by the action, such as `HoldDeal`. */
  readonly actions: Readonly<Record<string, ProblemExamples>>
  /** Of a body that names the action. */
  readonly update: ProblemExamples
  /** Of a command whose id the client chose. */
  readonly command: ProblemExamples
  /** Of a list of commands. */
  readonly commands: ProblemExamples
  /** Of a failure. */
  readonly failure: Problem
}

/**
 * The problems with which a family refuses requests, each with an example: for documents, and to test a front end.
 *
 * @example
 * describeProblems(mount).actions.HoldDeal?.['wrong-state']?.document()
 */
export function describeProblems (mount: FamilyMount): MountProblems {
  const own = mountOf(mount)
  const { family, family: { name, singular, operations, lifecycle }, emptyList, retirement } = own
  const actions: [string, ProblemExamples][] = Array.from(operations, ([action, operation]) =>
    [action, listOperationProblems(own, operation)])
  const { createAction = '', params, takesId, deletion } = lifecycle ?? {}
  if (params !== undefined) {
    const ofBody = { 'invalid-body': misreadBody(params) }
    actions.push([createAction, { ...ofBody, ...listConflicts(family, takesId), 'id-reused': idReused() }])
  }
  if (deletion !== undefined) {
    const inUse = breakRule(family, 'in-use', { other: 'invoices' })
    const refused = makeExampleRefusals(family, deletion)
    actions.push([deletion.operation.action, { ...listTargetProblems(own), ...refused, 'in-use': inUse }])
  }
  // Where the body names the action, any operation is an example.
  const [first] = operations.values()
  const ofBody = { 'invalid-body': invalidBody([{ pointer: '/action', detail: 'is required' }]) }
  const update = first && { ...listOperationProblems(own, first), ...ofBody }
  const ofCommand = idReused('order-17-hold')
  return {
    any: retirement.sunset === undefined ? {} : { gone: explainEnd(retirement) },
    list: {
      'invalid-query': misread(own, 'maxpagesize=0'),
      ...emptyList === 'not-found' && { 'empty-list': nothingFound(name) }
    },
    item: { 'invalid-query': misread(own, 'fields=unknown'), 'not-found': notFound(singular, exampleId(family)) },
    actions: Object.fromEntries(actions),
    update: update ?? {},
    command: { ...update, 'id-reused': ofCommand },
    commands: {
      'invalid-body': pointToCommand(3, invalidBody([{ pointer: '/params/reason', detail: 'is required' }])),
      'id-reused': pointToCommand(3, ofCommand)
    },
    failure: storageUnavailable()
  }
}

function misread ({ grammar }: Mount, search: string): Problem {
  const read = grammar.parse(search)
  return invalidQuery('flaws' in read ? read.flaws : [])
}

function exampleId ({ schema, idKind }: Family): Id {
  const [id = idKind === 'integer' ? 17 : '01890a5d-ac96-774b-bcce-b302099a8057'] = schema.properties.id?.examples ?? []
  return id
}

function listTargetProblems ({ family, family: { singular }, preconditions }: Mount): ProblemExamples {
  return {
    'not-found': notFound(singular, exampleId(family)),
    'precondition-failed': preconditionFailed(singular, 8),
    ...preconditions === 'required' && { 'precondition-required': preconditionRequired(singular) },
    'id-reused': idReused()
  }
}

function listOperationProblems (mount: Mount, operation: CompiledOperation): ProblemExamples {
  const { family } = mount
  return {
    'invalid-body': misreadBody(operation.params),
    ...listTargetProblems(mount),
    ...makeExampleRefusals(family, operation),
    ...listConflicts(family),
    ...operation.past !== undefined && listPastProblems(family)
  }
}

/** Of an operation that reads the log. */
function listPastProblems (family: Family): ProblemExamples {
  const [field] = [...family.references.keys(), ...family.pathReferences.keys()]
  const missing = field && breakRule(family, 'reference', { fields: [field], other: findReferred(family, field)?.name })
  return {
    pruned: new Problem('pruned', `The log does not have all values of the ${family.singular} "${exampleId(family)}"`),
    ...missing && { missing: explainPast(missing) as Problem }
  }
}

function makeExampleRefusals (family: Family, change: CompiledChange): ProblemExamples {
  return change.operation.allowed === undefined ? {} : { 'wrong-state': refuseByState(family, change) }
}

/** As an empty body is refused, or one with a member too many. */
function misreadBody ({ schema: { required = [], properties } }: Params): Problem {
  if (required.length > 0) {
    return invalidBody(required.map(name => ({ pointer: `/${escapePointer(name)}`, detail: 'is required' })))
  }
  const names = Object.keys(properties)
  const allowed = names.length === 0 ? 'No members are allowed here' : `Allowed are ${names.join(', ')}`
  return invalidBody([{ pointer: '/unknown', detail: `is unknown. ${allowed}` }])
}

function listConflicts (family: Family, takesId = false): ProblemExamples {
  const { shape: { unique = [] }, constraints } = family
  const [fields = takesId ? ['id'] : undefined] = unique
  const [constraint] = Object.keys(constraints)
  return {
    ...fields && { taken: breakRule(family, 'unique', { fields }) },
    ...constraint !== undefined && { constraint: breakRule(family, 'other', { constraint, declared: false }) }
  }
}

function breakRule (
  family: Family,
  rule: ConstraintError['rule'],
  options: ConstructorParameters<typeof ConstraintError>[3]
): Problem {
  const error = new ConstraintError(family.name, exampleId(family), rule, { declared: true, ...options })
  return explainConstraint([family], refuseByConstraint(error)) as Problem
}

const context: Context = Object.freeze({
  now: '2030-01-31T12:00:00.000Z', command: '', principal: undefined, claims: {}, items: {}, newIds: {}, facts: {}
})

const stateRefusals = new WeakMap<CompiledChange, Problem>()

/** The operation's own reason, on an item in a state that does not allow it; a general one where none is found. */
function refuseByState (family: Family, operation: CompiledChange): Problem {
  // All mounts of a family have the same.
  const known = stateRefusals.get(operation) ?? findRefusal(family, operation)
  stateRefusals.set(operation, known)
  return known
}

function findRefusal (family: Family, { operation: { name, action }, params }: CompiledChange): Problem {
  const base = getBase(family)
  const { operation } = base.changes.get(action) as CompiledChange
  const sent = (makeExample(params.schema) ?? {}) as Members
  try {
    for (const item of combineStates(base)) {
      const reason = explainForbidden(operation, item, sent, context)
      // No-ops succeed in any state.
      const isPlain = 'verb' in operation && findPast(base, action) === undefined
      const isNoOp = isPlain && isDeepStrictEqual(operation.apply(item, sent, context), item)
      if (reason === undefined || isNoOp) continue
      return refuseInState(base, name, item, reason, context, new Map())
    }
  } catch {
    // Rules may need what an example cannot have, such as other items.
  }
  const members = { operation: name, allowed: [] }
  return new Problem('wrong-state', explainInState(family, members), { members })
}

const maxStates = 50

/** An item with each combination of values in its fields that have few. */
function combineStates ({ schema, ownFields }: Family): Members[] {
  const item = structuredClone(makeExample(schema)) as Members | undefined
  if (item === undefined) return []
  const valuesOf = ({ kind, values }: Field): readonly unknown[] | undefined =>
    kind === 'boolean' ? [false, true] : values
  return ownFields.reduce<Members[]>((items, field) => {
    const values = valuesOf(field)
    if (values === undefined) return items
    return values.flatMap(value => items.map(item => ({ ...item, [field.name]: value }))).slice(0, maxStates)
  }, [item]).map(each => freeze(each))
}
