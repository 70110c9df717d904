import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { isObject } from './json.js'
import { didYouMean } from './words.js'

// Rules for definitions and options. A rule is a schema; its `description` completes the sentence "must be …", and the
// first of its `examples` is added as "such as …". `holds` tests what no schema can express.

// Node's timers fire at once if they are longer.
const maxTime = 2 ** 31 - 1

/**
 * Schemas of options, for `findOptionFlaw`. The `description` of a schema completes the sentence "must be …"; `holds`
 * of one tests what no schema can express.
 *
 * @example
 * const cursor = Type.Unsafe({ holds: text => findPosition(String(text)) !== undefined, description: 'a cursor' })
 */
export const rules = {
  word: Type.String({ description: 'a string' }),
  text: Type.String({ minLength: 1, description: 'a non-empty string' }),
  words: Type.Array(Type.String(), { description: 'a list of names' }),
  flag: Type.Boolean({ description: 'true or false' }),
  callback: Type.Function([], Type.Unknown(), { description: 'a function' }),
  object: Type.Object({}, { description: 'an object' }),
  size: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'a positive integer' }),
  count: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'an integer, 0 or more' }),
  time: Type.Integer({ minimum: 1, maximum: maxTime, description: `milliseconds from 1 to ${maxTime}` }),
  date: Type.Unsafe<Date | string>({ holds: isMoment, description: 'a date, such as "2027-01-31"' }),
  /** Checked elsewhere. */
  any: Type.Unknown()
}

function isMoment (value: unknown): boolean {
  return (value instanceof Date || typeof value === 'string') && !Number.isNaN(new Date(value).getTime())
}

export function oneOf (...values: readonly string[]): TSchema {
  const quoted = values.map(value => `"${value}"`)
  const description = `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
  return Type.Union(values.map(value => Type.Literal(value)), { description })
}

export function suchAs<T extends TSchema> (rule: T, example: string): T {
  return { ...rule, examples: [example] }
}

export function membersOf (properties: TProperties, required: readonly string[] = []): TObject {
  const object = Type.Object(properties, { additionalProperties: false, description: 'an object' })
  return { ...object, required: [...required] }
}

/** @param each the name of a member in messages; @param text describes what a member may be instead */
export function namedOf (member: TSchema, each: string, text?: string): TSchema {
  return Type.Record(Type.String(), member, { description: 'an object', each, text })
}

/**
 * What is wrong with options that a host gives, as text for an error; undefined if nothing is. A mistyped option is
 * named, with the nearest name.
 *
 * @example
 * const schema = Type.Object({ name: optionRules.text, retries: Type.Optional(optionRules.size) })
 * findOptionFlaw(schema, { name: 'mailer', retries: -1 })   // the option "retries" must be a positive integer
 */
export function findOptionFlaw (schema: TObject, options: unknown): string | undefined {
  return findFlaw(schema, options, 'option')
}

/** @param kind the name of its members in messages */
export function findFlaw (rule: TObject, value: unknown, kind: 'member' | 'option' = 'member'): string | undefined {
  const known = Object.keys(rule.properties)
  if (!isObject(value)) return `must be an object with ${known.join(', ')}`
  const given = Object.keys(value).filter(name => value[name] !== undefined)
  const unknown = given.find(name => !Object.hasOwn(rule.properties, name))
  if (unknown !== undefined) return `unknown ${kind} "${unknown}".${didYouMean(unknown, known)}`
  for (const [name, member] of Object.entries(rule.properties)) {
    const called = kind === 'option' ? `the option "${name}"` : `"${name}"`
    if (value[name] !== undefined) {
      const flaw = findFlawInValue(member, value[name], name, called)
      if (flaw !== undefined) return flaw
    } else if (rule.required?.includes(name) === true) return `${called} is missing; it ${explainRule(member)}`
  }
  return undefined
}

function findFlawInValue (rule: TSchema, value: unknown, name: string, called: string): string | undefined {
  if (isObject(value)) {
    const [object] = [rule, ...(rule.anyOf ?? [])].filter(({ additionalProperties: open }) => open === false)
    if (object !== undefined) return within(name, findFlaw(object, value))
    if (rule.each !== undefined) {
      const [each] = Object.values(rule.patternProperties as TProperties) as [TObject]
      const others = Object.entries(value).filter(([, member]) => typeof member !== 'string' || rule.text === undefined)
      return others.map(([name, member]) => within(`${rule.each} "${name}"`, isObject(member) || rule.text === undefined
        ? findFlaw(each, member)
        : `must be ${rule.text}`)).find(flaw => flaw !== undefined)
    }
  }
  const isRight = rule.holds === undefined ? Value.Check(rule, value) : rule.holds(value)
  return isRight === true ? undefined : `${called} ${explainRule(rule)}`
}

// the operation "lend": with "to": "id" is missing
function within (place: string, flaw: string | undefined): string | undefined {
  return flaw === undefined ? undefined : `${place}: ${flaw}`
}

function explainRule ({ description, examples }: TSchema): string {
  return `must be ${description}${examples === undefined ? '' : `, such as ${(examples as string[])[0]}`}`
}
