import { Problem } from '../problems.js'
import type { ConstraintError, ConstraintRule } from '../storage/constraint-error.js'

// What is said of a field, and where none is known. Names and texts of the database itself are nobody else's business.
const reasons: Record<ConstraintRule, { readonly field: string, readonly whole: string }> = {
  unique: { field: 'is taken already', whole: 'there is such a one already' },
  required: { field: 'must be given', whole: 'something is missing that must be given' },
  reference: { field: 'refers to something that is not there', whole: 'it refers to something that is not there' },
  'in-use': { field: 'is referred to by something else', whole: 'something else refers to it' },
  value: { field: 'has a value that is not allowed', whole: 'it has a value that is not allowed' },
  other: { field: 'is not allowed', whole: 'one of its own rules is against it' }
}

/** The problem of a change that a rule of the database refuses. */
export function refuseByConstraint (error: ConstraintError): Problem {
  const { rule, fields, allowed } = error
  const pointers = fields.map(field => `/${field}`)
  const errors = pointers.map(pointer => {
    const others = pointers.filter(other => other !== pointer)
    const together = others.length === 0 ? '' : `, together with ${others.join(', ')}`
    return { pointer, detail: `${allowed ?? reasons[rule].field}${together}` }
  })
  const [first] = errors
  const reason = first === undefined ? reasons[rule].whole : `${first.pointer} ${first.detail}`
  const detail = `The database does not allow this: ${reason}. Nothing was done`
  return new Problem('constraint', detail, { cause: error, ...(first === undefined ? {} : { errors }) })
}
