import { isDeepStrictEqual } from 'node:util'
import { errorCodes } from '../../core/errors.js'
import type { CompiledOperation, Family } from '../../core/family/family.js'
import { readParams } from '../../core/family/params.js'
import type { Problem } from '../../core/problems.js'
import { invalidBody } from '../../core/problems.js'
import type { Command } from '../../core/service/command.js'
import type { Stored } from '../../core/storage/storage.js'
import type { MemberFlaw, Members } from '../../core/values/json.js'
import { didYouMean } from '../../core/values/nearest.js'

/** The operation that members which differ from those of an item stand for, or the problem that none does. */
export function interpret (
  family: Family,
  current: Stored,
  wanted: Members,
  removed: readonly string[]
): Pick<Command, 'action' | 'params'> {
  const differing = [
    ...Object.keys(wanted).filter(name => !isDeepStrictEqual(wanted[name], current[name])),
    ...removed.filter(name => current[name] !== undefined)
  ]
  const { attributes, edit } = family
  const edited = differing.filter(name => isEdited(family, name))
  const others = differing.filter(name => !edited.includes(name))
  const flaws = others.filter(name => attributes?.fields.includes(name) !== true)
    .map(name => explainMisplaced(family, name))
  if (flaws.length > 0) throw invalidBody(flaws)

  const merged: Record<string, unknown> = { ...current, ...wanted }
  for (const name of removed) delete merged[name]
  const meant = attributes === undefined || others.length === 0 ? undefined : attributes.read(merged, current)
  if (meant !== undefined && 'field' in meant) {
    throw invalidBody([{ pointer: `/${meant.field}`, detail: meant.detail }])
  }
  if (edit !== undefined && edited.length > 0) {
    if (meant !== undefined) throw refuseTwo(meant.operation, others, edit.operation.name, edited)
    const params = Object.fromEntries(edited.map(name => [name, merged[name] ?? null]))
    return { action: edit.operation.action, params: readParams(edit.params, params) }
  }
  if (meant === undefined) return { action: undefined, params: {} }
  const { operation, params } = getOperationByName(family, meant.operation)
  return { action: operation.action, params: readParams(params, meant.params) }
}

/** Whether a member is changed plainly. */
export function isEdited ({ edit }: Family, name: string): boolean {
  return edit?.operation.changes?.includes(name) === true
}

// An update is one operation, or else half of it might be refused.
function refuseTwo (one: string, its: readonly string[], another: string, others: readonly string[]): Problem {
  const explain = (own: string, other: string) => (name: string): MemberFlaw => ({
    pointer: `/${name}`,
    detail: `is changed by the operation ${own}, and another member here by ${other}; send one after the other`
  })
  return invalidBody([...its.map(explain(one, another)), ...others.map(explain(another, one))])
}

function getOperationByName ({ name: family, operations }: Family, name: string): CompiledOperation {
  const all = [...operations.values()]
  const found = all.find(({ operation }) => operation.name === name)
  if (found !== undefined) return found
  const hint = didYouMean(name, all.map(({ operation }) => operation.name))
  throw new errorCodes.FST_DEALBOOK_UNKNOWN_OPERATION(family, name, hint)
}

function explainMisplaced ({ operations }: Family, name: string): MemberFlaw {
  const owners = [...operations.values()]
    .filter(({ operation }) => operation.changes?.includes(name))
    .map(({ operation }) => operation.name)
  const detail = owners.length === 0
    ? 'cannot be changed'
    : `is changed by the operation ${owners.join(' or ')}, not by an update`
  return { pointer: `/${name}`, detail }
}
