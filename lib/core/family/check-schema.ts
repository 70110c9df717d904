import { Kind, TransformKind } from '@sinclair/typebox'

/** What a schema of any origin may have. */
type AnySchema = Readonly<Record<string | symbol, unknown>>

const jsonTypes: readonly unknown[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

// What to write for types that JSON does not have.
const instead: Readonly<Record<string, string>> = {
  Date: "Type.String({ format: 'date-time' }) or Type.String({ format: 'date' })",
  bigint: 'Type.Integer(), or Type.String({ pattern }) for more than fifteen digits',
  RegExp: 'Type.String({ pattern })',
  Uint8Array: 'Type.String(), in base64',
  undefined: 'Type.Optional'
}

const origin = 'take Type from fastify-dealbook, which is that of @sinclair/typebox 0.34'

/**
 * Says why a value is not the schema of an object with known members; undefined where it is one.
 *
 * @param what its name in a definition
 */
export function findFlawInObject (what: string, schema: unknown): string | undefined {
  if (!isSchema(schema)) return `${what} must be a Type.Object({ … })`
  if (isOfAnotherPackage(schema)) return explainOrigin(what)
  if (schema[Kind] === 'Intersect') return `${what} is a Type.Intersect; Type.Composite makes one object of several`
  // Without this mark, its optional members cannot be recognized.
  if (schema[Kind] !== 'Object') return `${what} must be a Type.Object({ … }); ${origin}`
  for (const [name, member] of Object.entries(schema['properties'] as object)) {
    const flaw = isSchema(member) ? findFlawInMember(name, member) : `"${name}" is not a schema, such as Type.String()`
    if (flaw !== undefined) return `${what}: ${flaw}`
  }
  return undefined
}

function isSchema (value: unknown): value is AnySchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

// typebox 1.x marks its schemas like this, and optional members in a way that 0.34 does not see.
function isOfAnotherPackage (schema: AnySchema): boolean {
  return '~kind' in schema
}

function explainOrigin (what: string): string {
  return `${what} is made by the package "typebox" (1.x); ${origin}`
}

// These hold values, not schemas.
const data: readonly string[] = ['default', 'const', 'enum', 'examples']

function findFlawInMember (name: string, schema: AnySchema): string | undefined {
  if (isOfAnotherPackage(schema)) return explainOrigin(`"${name}"`)
  if (TransformKind in schema) return `"${name}" is a Type.Transform, but values are stored as they are sent`
  const { type } = schema
  if (typeof type === 'string' && !jsonTypes.includes(type)) {
    const hint = Object.hasOwn(instead, type) ? `; write ${instead[type]}` : ''
    return `"${name}" is a ${type}, which JSON does not have${hint}`
  }
  for (const [key, value] of Object.entries(schema)) {
    if (data.includes(key) || typeof value !== 'object' || value === null) continue
    for (const part of isNamed(key) || Array.isArray(value) ? Object.values(value) : [value]) {
      const flaw = isSchema(part) ? findFlawInMember(name, part) : undefined
      if (flaw !== undefined) return flaw
    }
  }
  return undefined
}

// Keywords that hold schemas by name.
function isNamed (key: string): boolean {
  return key === 'properties' || key === 'patternProperties' || key === '$defs'
}
