import type { TSchema } from '@sinclair/typebox'
import { isObject } from './json.js'

type Test = (value: unknown) => boolean

const isAnything: Test = () => true
const isText: Test = value => typeof value === 'string'
const isNumber: Test = value => Number.isFinite(value)
const isFlag: Test = value => typeof value === 'boolean'
const isSize: Test = value => Number.isInteger(value) && (value as number) >= 0
const isListOf = (test: Test): Test => value => Array.isArray(value) && value.length > 0 && value.every(test)

function isPattern (value: unknown): boolean {
  try {
    return typeof value === 'string' && new RegExp(value, 'u') instanceof RegExp
  } catch {
    return false
  }
}

const tests: Readonly<Record<string, Test>> = {
  type: value => ['string', 'integer', 'number', 'boolean', 'null', 'array', 'object'].includes(value as string),
  title: isText,
  description: isText,
  format: isText,
  default: isAnything,
  const: isAnything,
  scale: isAnything,
  transform: isAnything,
  examples: value => Array.isArray(value),
  enum: isListOf(isText),
  pattern: isPattern,
  minLength: isSize,
  maxLength: isSize,
  minItems: isSize,
  maxItems: isSize,
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  anyOf: isListOf(isPlainSchema),
  items: isPlainSchema,
  properties: value => isObject(value) && Object.values(value).every(isPlainSchema),
  required: value => isListOf(isText)(value) && new Set(value as string[]).size === (value as string[]).length,
  additionalProperties: isFlag,
  writeOnly: isFlag
}

/** Whether a schema only has common keywords with valid values: Ajv takes milliseconds to check that. */
export function isPlainSchema (schema: unknown): boolean {
  const isRight = ([keyword, value]: [string, unknown]) => Object.hasOwn(tests, keyword) && tests[keyword]?.(value)
  return isObject(schema) && Object.entries(schema).every(isRight)
}

const notes = ['type', 'anyOf', 'title', 'description', 'default', 'examples']

/** Whether a flag or one of a few words is valid; false if only a validator can decide. */
export function isPlainValue (schema: TSchema, value: unknown): boolean {
  if (!Object.keys(schema).every(keyword => notes.includes(keyword))) return false
  if (schema.anyOf === undefined) return schema.type === 'boolean' && typeof value === 'boolean'
  return typeof value === 'string' && (schema.anyOf as TSchema[]).some(each => each.const === value)
}
