import { Problem } from '../problems.js'
import type { ConstraintError, ConstraintRule } from '../storage/storage.js'

// For a field, and for the item where no field is known. Names and texts of the database itself are never shown.
const reasons: Record<ConstraintRule, { readonly field: string, readonly whole: string }> = {
  unique: { field: 'is taken already', whole: 'it already exists' },
  required: { field: 'must be given', whole: 'a required value is missing' },
  reference: { field: 'refers to something that does not exist', whole: 'it refers to something that does not exist' },
  'in-use': { field: 'is referred to by something else', whole: 'something else refers to it' },
  value: { field: 'has a value that is not allowed', whole: 'it has a value that is not allowed' },
  other: { field: 'is not allowed', whole: 'a rule of the database rejects it' }
}

/** The problem of a change that a rule refuses: of the family, or of the database itself. */
export function refuseByConstraint (error: ConstraintError): Problem {
  const { rule, other, declared } = error
  if (!declared) return refuseByDatabase(error)
  if (rule === 'in-use') {
    const detail = `It cannot be deleted while ${other} refer to it. Nothing was done`
    return new Problem('in-use', detail, { members: { family: other }, cause: error })
  }
  const isDangling = rule === 'reference'
  const errors = listErrors(error, isDangling ? `must be an id of ${other}, and none has this id` : undefined)
  const detail = `${errors[0]?.pointer} ${errors[0]?.detail}`
  return isDangling
    ? new Problem('invalid-body', detail, { errors, cause: error })
    : new Problem('taken', `${detail}. Nothing was done`, { errors, cause: error })
}

function refuseByDatabase (error: ConstraintError): Problem {
  const { rule, allowed } = error
  const errors = listErrors(error, allowed)
  const [first] = errors
  const reason = first === undefined ? reasons[rule].whole : `${first.pointer} ${first.detail}`
  const detail = `The database does not allow this: ${reason}. Nothing was done`
  return new Problem('constraint', detail, { cause: error, ...(first === undefined ? {} : { errors }) })
}

/** What is wrong with each field of the item, whatever parameters its value came from. */
function listErrors ({ rule, fields }: ConstraintError, reason: string = reasons[rule].field): PointerFlaw[] {
  const pointers = fields.map(field => `/${field}`)
  return pointers.map(pointer => {
    const others = pointers.filter(other => other !== pointer)
    const together = others.length === 0 ? '' : `, together with ${others.join(', ')}`
    return { pointer, detail: `${reason}${together}` }
  })
}

interface PointerFlaw {
  readonly pointer: string
  readonly detail: string
}
