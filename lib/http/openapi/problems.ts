import { isDeepStrictEqual } from 'node:util'
import { Type } from '@sinclair/typebox'
import type { Context } from '../../core/family/definition.js'
import type { CompiledOperation, Family } from '../../core/family/family.js'
import type { Params } from '../../core/family/params.js'
import {
  idReused, invalidBody, invalidQuery, notFound, nothingFound, preconditionFailed, preconditionRequired, Problem,
  type ProblemCode, problemCodes, storageUnavailable
} from '../../core/problems.js'
import {
  explainConstraint, explainForbidden, explainInState, refuseByConstraint, refuseInState
} from '../../core/service/refusal.js'
import { ConstraintError, type Field, type Id } from '../../core/storage/storage.js'
import { makeExample } from '../../core/values/example.js'
import { escapePointer, freeze, type Members } from '../../core/values/json.js'
import type { Mount } from '../mount.js'
import { explainEnd } from '../routes.js'
import { nameItem, nameSchema, ProblemSchema } from './schemas.js'

export type Answers = Record<string, object>

// Their examples are the same on all routes of an item.
const ofItem: readonly ProblemCode[] = ['not-found', 'precondition-failed', 'precondition-required', 'gone']
const reusedKey = (): Problem => idReused()

/** Makers of examples, called once for all mounts of a family. */
type Problems = Partial<Record<ProblemCode, () => Problem>>

/**
 * An answer for each status, with the problems themselves as examples, and one for all others.
 *
 * @param subject begins the names of the schemas that have the examples, such as HoldDeal409
 */
export function describeProblems (mount: Mount, subject = '', problems: Problems = {}): Answers {
  const { retirement } = mount
  const all = retirement.sunset === undefined ? problems : { ...problems, gone: () => explainEnd(retirement) }
  const byStatus = new Map<number, ProblemCode[]>()
  for (const code of Object.keys(all) as ProblemCode[]) {
    const { status } = problemCodes[code]
    byStatus.set(status, [...byStatus.get(status) ?? [], code])
  }
  const answers = Array.from(byStatus, ([status, codes]) => {
    const [code] = codes as [ProblemCode]
    const name = ofItem.includes(code) || all[code] === reusedKey ? nameItem(mount) : subject
    return [status, describeProblem(mount, `${name}${status}`, codes.join(' or '), () =>
      codes.flatMap(code => all[code]?.() ?? []))]
  })
  const other = describeProblem(mount, 'OtherProblem', 'Any other problem', () => [storageUnavailable()])
  return { ...Object.fromEntries(answers), default: other }
}

const kept = new WeakMap<Family, Map<string, object[]>>()

function describeProblem (mount: Mount, name: string, description: string, make: () => readonly Problem[]): object {
  const { family, retirement: { sunset = '', successor = '' } } = mount
  const known = kept.get(family) ?? new Map<string, object[]>()
  kept.set(family, known)
  // All mounts of a family have the same, but for the end of a version.
  const key = description === 'gone' ? `${name} ${String(sunset)} ${successor}` : name
  const examples = known.get(key) ?? make().map(problem => problem.document())
  known.set(key, examples)
  const any = nameSchema(mount, 'Problem', ProblemSchema)
  const schema = nameSchema(mount, name, Type.Unsafe({ allOf: [any], examples }))
  return { description, content: { 'application/problem+json': { schema } } }
}

export function describeListProblems (mount: Mount): Answers {
  const { family: { name }, emptyList } = mount
  return describeProblems(mount, `${nameItem(mount)}Page`, {
    'invalid-query': () => misread(mount, 'maxpagesize=0'),
    ...emptyList === 'not-found' && { 'empty-list': () => nothingFound(name) }
  })
}

export function describeReadProblems (mount: Mount): Answers {
  const { family } = mount
  return describeProblems(mount, nameItem(mount), {
    'invalid-query': () => misread(mount, 'fields=unknown'),
    'not-found': () => notFound(family.singular, exampleId(family))
  })
}

function misread ({ grammar }: Mount, search: string): Problem {
  const read = grammar.parse(search)
  return invalidQuery('flaws' in read ? read.flaws : [])
}

function exampleId ({ schema, idKind }: Family): Id {
  const [id = idKind === 'integer' ? 17 : '01890a5d-ac96-774b-bcce-b302099a8057'] = schema.properties.id?.examples ?? []
  return id
}

/** Of a write in a form, or in none. Only the recommended form has them: they are the same in the others. */
export function describeWriteProblems (
  mount: Mount,
  action: string | undefined,
  form = mount.recommendedForm,
  more: Problems = { 'id-reused': reusedKey }
): Answers {
  if (form !== mount.recommendedForm) return {}
  const { family, family: { singular, lifecycle, operations }, preconditions } = mount
  if (lifecycle !== undefined && action === lifecycle.createAction) {
    return describeProblems(mount, action, {
      'invalid-body': () => misreadBody(lifecycle.params),
      ...listConflicts(family, lifecycle.takesId),
      ...more
    })
  }
  const ofTarget: Problems = {
    'not-found': () => notFound(singular, exampleId(family)),
    'precondition-failed': () => preconditionFailed(singular, 8),
    ...preconditions === 'required' && { 'precondition-required': () => preconditionRequired(singular) },
    ...more
  }
  if (lifecycle !== undefined && action === lifecycle.deletion?.operation.action) {
    return describeProblems(mount, action, {
      ...ofTarget, 'in-use': () => breakRule(family, 'in-use', { other: 'invoices' })
    })
  }
  // Where the body names the action, any operation is an example.
  const operation = operations.get(action ?? '') ?? [...operations.values()][0] as CompiledOperation
  return describeProblems(mount, action ?? `${nameItem(mount)}Action`, {
    'invalid-body': () => action === undefined
      ? invalidBody([{ pointer: '/action', detail: 'is required' }])
      : misreadBody(operation.params),
    ...ofTarget,
    ...operation.operation.allowed !== undefined && { 'wrong-state': () => refuseByState(family, operation) },
    ...listConflicts(family)
  })
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

function listConflicts (family: Family, takesId = false): Problems {
  const { shape: { unique = [] }, constraints } = family
  const [fields = takesId ? ['id'] : undefined] = unique
  const [constraint] = Object.keys(constraints)
  return {
    ...fields && { taken: () => breakRule(family, 'unique', { fields }) },
    ...constraint !== undefined && {
      constraint: () => breakRule(family, 'other', { constraint, declared: false })
    }
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

/** The operation's own reason, on an item in a state that does not allow it; a general one where none is found. */
function refuseByState (family: Family, { operation: { name, action }, params }: CompiledOperation): Problem {
  const base = family.renaming?.base ?? family
  const { operation } = base.operations.get(action) as CompiledOperation
  const sent = (makeExample(params.schema) ?? {}) as Members
  try {
    for (const item of listStates(base)) {
      const reason = explainForbidden(operation, item, sent, context)
      // No-ops succeed in any state.
      if (reason === undefined || isDeepStrictEqual(operation.apply(item, sent, context), item)) continue
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
function listStates ({ schema, ownFields }: Family): Members[] {
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
