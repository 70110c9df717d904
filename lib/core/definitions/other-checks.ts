import { type TProperties, Type } from '@sinclair/typebox'
import type { FamilyDefinition, Operation } from '../family/definition.js'
import { findFamily } from '../family/family.js'
import { isOfParams } from '../family/others.js'
import { findPathSchema, listPaths } from '../family/paths.js'
import type { OtherItem, OtherItemList } from '../family/types.js'
import { didYouMean } from '../values/words.js'

export type MaybeFlaw = string | false | undefined

export const memberName = /^[A-Za-z][A-Za-z0-9_]*$/
export const memberRule = 'must be letters, digits and underscores'

export const renamedFlaw = 'give the family itself, not a renamed one: rules have its names'

export function isRenamed (value: unknown): boolean {
  return findFamily(value)?.renaming !== undefined
}

/** What a change says about other items. */
interface DeclaredOthers {
  readonly with?: Operation['with'] | undefined
  readonly creates?: Operation['creates'] | undefined
  /** Its parameters. */
  readonly params?: TProperties
  /** A creation has no item, so paths lead only into its parameters. */
  readonly isCreation?: boolean
}

export function * checkOthers (
  definition: FamilyDefinition, what: string, declared: DeclaredOthers
): Generator<MaybeFlaw> {
  const { with: others, creates } = declared
  const members = [others === undefined ? '' : 'others', creates === undefined ? '' : 'created']
  for (const member of members.filter(member => Object.hasOwn(definition.fields.properties, member))) {
    yield `${what} may return "${member}", which cannot be a field then`
  }
  yield * checkWith(definition, what, declared)
  yield * checkCreates(what, creates)
}

export function * checkWith (
  definition: FamilyDefinition, what: string, declared: DeclaredOthers
): Generator<MaybeFlaw> {
  const { name, references = {} } = definition
  for (const [other, its] of Object.entries(declared.with ?? {})) {
    const which = `${what}: with "${other}"`
    yield * checkEntryName(which, other)
    if (typeof its === 'string') {
      yield !Object.hasOwn(references, its) && `${which}: "${its}" is not in references.` +
        didYouMean(its, Object.keys(references))
    } else {
      yield isRenamed(its.family) && `${which}: ${renamedFlaw}`
      yield typeof its.family === 'string' && its.family !== name &&
        `${which}: the family "${its.family}" is not this one; give a family made by defineFamily`
      yield * checkPath(definition, which, declared, its)
    }
  }
}

function * checkEntryName (which: string, name: string): Generator<MaybeFlaw> {
  yield !memberName.test(name) && `${which}: its name ${memberRule}`
  yield name in Object.prototype && `${which}: its name is that of a member of every object`
}

function * checkPath (
  { name, fields }: FamilyDefinition,
  which: string,
  { params = {}, isCreation = false }: DeclaredOthers,
  { family, ...its }: OtherItem<any, any> | OtherItemList
): Generator<MaybeFlaw> {
  const { id, path } = its as { readonly id?: unknown, readonly path?: string }
  yield id === undefined && path === undefined && `${which}: "id" is missing; it must be a function, such as ` +
    'params => params.to, or there must be a path, such as "goods.product"'
  yield id !== undefined && path !== undefined && `${which}: has both "id" and "path"`
  if (path === undefined) return
  const isParameter = isCreation || isOfParams(path, params)
  const schema = isParameter ? Type.Object(params) : fields
  const known = [...new Set([schema, Type.Object(params)].flatMap(each => listPaths(each)))]
  const found = findPathSchema(schema, path)
  yield found === undefined && `${which}: the path "${path}" leads nowhere.${didYouMean(path, known)}`
  const target = typeof family === 'string' ? { name, idKind: fields.properties.id?.type } : findFamily(family)
  yield target !== undefined && found?.type !== target.idKind &&
    `${which}: the path "${path}" leads to the type ${found?.type}; ids of ${target.name} are ${target.idKind}`
}

function * checkCreates (what: string, creates: Operation['creates'] = {}): Generator<MaybeFlaw> {
  const families = Object.values(creates).flat()
  yield new Set(families).size < families.length && `${what}: creates may name a family once`
  for (const [other, its] of Object.entries(creates)) {
    const which = `${what}: creates "${other}"`
    const [family, ...others] = [its].flat()
    yield others.length > 0 && `${which}: must be a family, or a list of one`
    yield * checkEntryName(which, other)
    yield isRenamed(family) && `${which}: ${renamedFlaw}`
    yield findFamily(family)?.lifecycle === undefined &&
      `${which}: must be a family with create, made by defineFamily`
  }
}
