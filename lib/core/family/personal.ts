import { isDeepStrictEqual } from 'node:util'
import type { TSchema } from '@sinclair/typebox'
import { isObject, type Members } from '../values/json.js'
import { withoutNull } from './fields.js'
import { findNeutral } from './neutral.js'

/** What is erased, and what takes its place. */
export interface ErasureRule {
  /** Whether a value is erased. @param path through lists, such as `contacts.email` */
  isMarked (path: string, value: unknown): boolean
  /** What takes the place of a value; undefined if nothing does. Default: nothing if that is allowed. */
  replace? (path: string, schemas: readonly TSchema[], isOptional: boolean): unknown
  /** Called with each value that is erased. */
  erased? (value: unknown, schemas: readonly TSchema[]): void
}

/**
 * A copy in which neutral values are in the place of those that are erased: none where it may be absent. The same if
 * there are none.
 *
 * @param schemas of these members, of one or more versions
 */
export function eraseMembers<T extends Members> (
  members: T, schemas: readonly TSchema[], rule: ErasureRule, above = ''
): T {
  const objects = schemas.flatMap(listObjects)
  let kept: Record<string, unknown> | undefined
  const { replace: findReplacement = replaceByNeutral } = rule
  for (const [name, value] of Object.entries(members)) {
    if (value === undefined || value === null) continue
    const path = `${above}${name}`
    const having = objects.filter(({ properties }) => properties !== undefined && Object.hasOwn(properties, name))
    const own = having.map(({ properties }) => properties[name] as TSchema)
    const isOptional = having.length > 0 && having.every(({ required = [] }) => !(required as string[]).includes(name))
    const after = rule.isMarked(path, value)
      ? replaceValue(value, own, rule, findReplacement(path, own, isOptional))
      : eraseWithin(value, own, rule, path)
    if (after === value) continue
    kept ??= { ...members }
    if (after === undefined) delete kept[name]
    else kept[name] = after
  }
  return (kept ?? members) as T
}

function eraseWithin (value: unknown, schemas: readonly TSchema[], rule: ErasureRule, path: string): unknown {
  if (isObject(value)) return eraseMembers(value, schemas, rule, `${path}.`)
  if (!Array.isArray(value)) return value
  const items = schemas.map(withoutNull).flatMap(({ items = [] }) => items as TSchema | TSchema[])
  const after = value.map((each: unknown) => {
    const isText = typeof each === 'string' && rule.isMarked(path, each)
    if (!isText) return eraseWithin(each, items, rule, path)
    return replaceValue(each, items, rule, (rule.replace ?? replaceByNeutral)(path, items, false))
  })
  return after.every((each, index) => each === value[index]) ? value : after
}

function replaceByNeutral (_path: string, schemas: readonly TSchema[], isOptional: boolean): unknown {
  return isOptional ? undefined : findNeutral(schemas)
}

function replaceValue (value: unknown, schemas: readonly TSchema[], rule: ErasureRule, neutral: unknown): unknown {
  if (isDeepStrictEqual(value, neutral)) return value
  rule.erased?.(value, schemas)
  return neutral
}

function listObjects (schema: TSchema): TSchema[] {
  const plain = withoutNull(schema)
  const { anyOf = [], allOf = [], oneOf = [] } = plain
  return [plain, ...[...anyOf, ...allOf, ...oneOf].flatMap((each: TSchema) => listObjects(each))]
}
