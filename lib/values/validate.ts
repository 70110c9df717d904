import type { TSchema } from '@sinclair/typebox'
import { Ajv } from 'ajv'
import type { ErrorObject } from 'ajv'
import { nearest } from './nearest.js'
import { isDate, readDateTime } from './dates.js'
import { escapePointer } from './json.js'

/** What is wrong with a member, by its JSON pointer. */
export interface MemberFlaw {
  readonly pointer: string
  readonly detail: string
}

/** Answers all that is wrong with a value; nothing where it is valid. */
export type Validator = (value: unknown) => MemberFlaw[]

// An instance of our own: the host's settings (coercion, removal of members) must not reach our bodies.
const ajv = new Ajv({
  allErrors: true,
  strict: false,
  verbose: true,
  formats: { date: isDate, 'date-time': (text: string) => readDateTime(text) !== undefined }
})

/** A strict validator: nothing is coerced, nothing is removed, no unknown member passes. */
export function compileValidator (schema: TSchema): Validator {
  const validate = ajv.compile({ ...schema })
  return value => validate(value) ? [] : flaws(validate.errors ?? [])
}

function flaws (errors: readonly ErrorObject[]): MemberFlaw[] {
  const found = new Map<string, MemberFlaw>()
  for (const error of errors) {
    const flaw = flawOf(error)
    // Of a union, Ajv reports every branch and then the whole; the last word on a member is the one that says most.
    found.set(flaw.pointer, flaw)
  }
  return [...found.values()]
}

function flawOf ({ instancePath: pointer, keyword, params, schema, parentSchema, message }: ErrorObject): MemberFlaw {
  switch (keyword) {
    case 'additionalProperties': return unknownMember(pointer, params.additionalProperty, Object.keys(parentSchema?.properties ?? {}))
    case 'required': return { pointer: `${pointer}/${escapePointer(params.missingProperty)}`, detail: 'is required' }
    case 'enum': return { pointer, detail: `must be one of ${(schema as unknown[]).join(', ')}` }
    case 'anyOf': return { pointer, detail: `must be one of ${(schema as { const?: unknown }[]).map(option => option.const).join(', ')}` }
    case 'format': return { pointer, detail: schema === 'date' ? 'must be a date that exists, as in 2026-03-31' : `must be a ${schema}` }
    case 'type': return { pointer, detail: `must be ${/^[aeiou]/.test(String(schema)) ? 'an' : 'a'} ${schema}` }
    case 'minLength': return { pointer, detail: schema === 1 ? 'must not be empty' : `must have at least ${schema} characters` }
    case 'maxLength': return { pointer, detail: `must have at most ${schema} characters` }
    case 'minimum': return { pointer, detail: `must be at least ${schema}` }
    case 'maximum': return { pointer, detail: `must be at most ${schema}` }
    default: return { pointer, detail: message ?? 'is not valid' }
  }
}

function unknownMember (pointer: string, name: string, allowed: readonly string[]): MemberFlaw {
  const meant = nearest(name, allowed)
  const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`
  const list = allowed.length === 0 ? 'no members are allowed here' : `allowed are ${allowed.join(', ')}`
  return { pointer: `${pointer}/${escapePointer(name)}`, detail: `is unknown.${hint} ${list[0]?.toUpperCase()}${list.slice(1)}` }
}
