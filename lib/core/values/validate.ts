import type { TSchema } from '@sinclair/typebox'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { type DecimalSchema, findFlawInDecimal, isMultiple } from './decimals.js'
import { formatTests, getFormat } from './formats.js'
import { newIdPattern, newIdRule, textIdPattern, textIdRule } from './ids.js'
import { escapePointer, type MemberFlaw } from './json.js'
import { didYouMean, maxHints } from './words.js'

/** Lists everything that is wrong with a value. */
export type Validator = (value: unknown) => MemberFlaw[]

// A separate instance: the host's settings (coercion, removal of members) must not affect our bodies.
const ajv = new Ajv({
  strict: false, verbose: true, allErrors: true, validateSchema: false, formats: { ...formatTests, decimal: true }
})
ajv.removeKeyword('multipleOf')
ajv.addKeyword({
  keyword: 'multipleOf', type: 'number', validate: (step: number, value: number) => isMultiple(value, step)
})
ajv.addKeyword({
  keyword: 'scale',
  validate: (_: unknown, value: unknown, schema: DecimalSchema = {}) => findFlawInDecimal(schema, value) === undefined
})

/**
 * Checks values by a schema. Coerces and removes nothing. Compiled at first use: Ajv takes milliseconds for each, and a
 * mount has dozens.
 */
export function makeValidator (schema: TSchema): Validator {
  let validate: ValidateFunction | undefined
  return value => {
    validate ??= ajv.compile({ ...schema })
    return validate(value) ? [] : toFlaws(validate.errors ?? [])
  }
}

export function findFlawInSchema (schema: TSchema): string | undefined {
  try {
    ajv.validateSchema(schema, true)
    ajv.compile({ ...schema })
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function toFlaws (errors: readonly ErrorObject[]): MemberFlaw[] {
  const byPointer = new Map<string, ErrorObject>()
  // Ajv reports every branch of a union and then the whole: the last error of a member is the best.
  for (const error of dropVague(errors)) byPointer.set(pointToFlaw(error), error)
  const listed = new Set<unknown>()
  let unknown = 0
  return Array.from(byPointer, ([pointer, error]) => {
    if (error.keyword !== 'additionalProperties') return { pointer, detail: describeFlaw(error) }
    const allowed = Object.keys(error.parentSchema?.properties ?? {})
    const hint = ++unknown > maxHints ? '' : didYouMean(error.params.additionalProperty, allowed)
    if (listed.has(error.parentSchema)) return { pointer, detail: `is unknown.${hint}` }
    listed.add(error.parentSchema)
    const list = allowed.length === 0 ? 'No members are allowed here' : `Allowed are ${allowed.join(', ')}`
    return { pointer, detail: `is unknown.${hint} ${list}` }
  })
}

const vague = ['type', 'const', 'enum', 'anyOf']

// If a value may be null or one other thing, the flaw of the other thing is more useful than that of the union.
function dropVague (errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const isNullOrElse = (options: readonly TSchema[]) =>
    options.length === 2 && options.some(({ type }) => type === 'null')
  const unions = new Set(errors.flatMap(({ keyword, schema, instancePath }) =>
    keyword === 'anyOf' && isNullOrElse(schema as TSchema[]) ? instancePath : []))
  if (unions.size === 0) return errors
  const dropped = new Set<string>()
  for (const { instancePath, keyword } of errors) {
    let at = vague.includes(keyword) ? getParent(instancePath) : instancePath
    for (; at !== undefined; at = getParent(at)) if (unions.has(at)) dropped.add(at)
  }
  return errors.filter(({ instancePath, keyword }) => !(dropped.has(instancePath) && vague.includes(keyword)))
}

function getParent (pointer: string): string | undefined {
  return pointer === '' ? undefined : pointer.slice(0, pointer.lastIndexOf('/'))
}

function pointToFlaw ({ instancePath, keyword, params }: ErrorObject): string {
  const name: string | undefined = keyword === 'required' ? params.missingProperty : params.additionalProperty
  return name === undefined ? instancePath : `${instancePath}/${escapePointer(name)}`
}

function describePattern (pattern: string, { examples }: TSchema): string {
  if (pattern === textIdPattern) return textIdRule
  if (pattern === newIdPattern) return newIdRule
  const [example] = (examples ?? []) as readonly unknown[]
  return example === undefined ? `must match pattern "${pattern}"` : `must look like ${example} (pattern "${pattern}")`
}

/** What a value must be, by the keyword of its schema. */
const flawsByKeyword: Readonly<Record<string, (schema: unknown, parent: TSchema) => string>> = {
  required: () => 'is required',
  enum: values => `must be one of ${(values as unknown[]).join(', ')}`,
  anyOf: schemas => `must be one of ${(schemas as TSchema[]).map(({ const: literal, enum: values, type }) =>
    literal ?? values?.join(', ') ?? type).join(', ')}`,
  pattern: (pattern, parent) => describePattern(pattern as string, parent),
  format: name => getFormat(name as string)?.rule ?? 'is not valid',
  type: name => `must be ${/^[aeiou]/.test(String(name)) ? 'an' : 'a'} ${name}`,
  minLength: least => least === 1 ? 'must not be empty' : `must have at least ${least} characters`,
  maxLength: most => `must have at most ${most} characters`,
  minItems: least => least === 1 ? 'must not be empty' : `must have at least ${least} entries`,
  maxItems: most => `must have at most ${most} entries`,
  uniqueItems: () => 'must not have the same entry twice',
  minimum: least => `must be at least ${least}`,
  maximum: most => `must be at most ${most}`,
  multipleOf: step => `must be multiple of ${step}`
}

function describeFlaw ({ keyword, schema, message, parentSchema = {}, data }: ErrorObject): string {
  const { format } = parentSchema as DecimalSchema
  if (format === 'decimal') return findFlawInDecimal(parentSchema as DecimalSchema, data) ?? 'is not valid'
  return flawsByKeyword[keyword]?.(schema, parentSchema as TSchema) ?? message ?? 'is not valid'
}
