import type { TSchema } from '@sinclair/typebox'
import type { ErrorObject, ValidateFunction } from 'ajv'
import { Ajv } from 'ajv'
import { isDate, readDateTime } from './dates.js'
import { escapePointer } from './json.js'
import { didYouMean } from './nearest.js'

/** What is wrong with a member, by its JSON pointer. */
export interface MemberFlaw {
  readonly pointer: string
  readonly detail: string
}

/** Returns all that is wrong with a value; nothing if it is valid. */
export type Validator = (value: unknown) => MemberFlaw[]

// Our own instance: the host's settings (coercion, removal of members) must not reach our bodies.
const ajv = new Ajv({
  allErrors: true,
  strict: false,
  verbose: true,
  formats: { date: isDate, 'date-time': (text: string) => readDateTime(text) !== undefined }
})

/**
 * Makes a strict validator: nothing is coerced, nothing is removed, no unknown member passes. It is compiled when it is
 * first needed, since Ajv takes milliseconds for each and a mount has dozens.
 */
export function makeValidator (schema: TSchema): Validator {
  let validate: ValidateFunction | undefined
  return value => {
    validate ??= ajv.compile({ ...schema })
    return validate(value) ? [] : toFlaws(validate.errors ?? [])
  }
}

/** Says why a schema cannot be used for validation; undefined where it can. */
export function findFlawInSchema (schema: TSchema): string | undefined {
  try {
    ajv.compile({ ...schema })
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function toFlaws (errors: readonly ErrorObject[]): MemberFlaw[] {
  const flaws = new Map<string, MemberFlaw>()
  for (const error of errors) {
    const flaw = toFlaw(error)
    // Of a union, Ajv reports every branch and then the whole: the last error of a member says most.
    flaws.set(flaw.pointer, flaw)
  }
  return [...flaws.values()]
}

function toFlaw (error: ErrorObject): MemberFlaw {
  const { instancePath: pointer, keyword, params, parentSchema } = error
  switch (keyword) {
    case 'additionalProperties':
      return unknownMember(pointer, params.additionalProperty, Object.keys(parentSchema?.properties ?? {}))
    case 'required':
      return { pointer: `${pointer}/${escapePointer(params.missingProperty)}`, detail: 'is required' }
    default:
      return { pointer, detail: describe(error) }
  }
}

function unknownMember (pointer: string, name: string, allowed: readonly string[]): MemberFlaw {
  const list = allowed.length === 0 ? 'No members are allowed here' : `Allowed are ${allowed.join(', ')}`
  return { pointer: `${pointer}/${escapePointer(name)}`, detail: `is unknown.${didYouMean(name, allowed)} ${list}` }
}

function describe ({ keyword, schema, message }: ErrorObject): string {
  switch (keyword) {
    case 'enum': return `must be one of ${(schema as unknown[]).join(', ')}`
    case 'anyOf': return `must be one of ${(schema as { const?: unknown }[]).map(option => option.const).join(', ')}`
    case 'format': return schema === 'date' ? 'must be a date that exists, as in 2026-03-31' : `must be a ${schema}`
    case 'type': return `must be ${/^[aeiou]/.test(String(schema)) ? 'an' : 'a'} ${schema}`
    case 'minLength': return schema === 1 ? 'must not be empty' : `must have at least ${schema} characters`
    case 'maxLength': return `must have at most ${schema} characters`
    case 'minimum': return `must be at least ${schema}`
    case 'maximum': return `must be at most ${schema}`
    default: return message ?? 'is not valid'
  }
}
