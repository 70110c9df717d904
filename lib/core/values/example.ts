/** A JSON schema. */
type Schema = Readonly<Record<string, unknown>>

/** Finds what a reference means. */
type Resolve = (schema: Schema) => Schema

/**
 * A value that a schema allows, as a client could send it: an example of the schema, or one made of its members.
 * Undefined where no valid one is known.
 */
export function makeExample (schema: Schema, resolve: Resolve = itself => itself): unknown {
  const known = readKnown(schema)
  if (known !== undefined) return known
  if (schema['$ref'] !== undefined) return makeExample(resolve(schema), resolve)
  const alternatives = (schema['anyOf'] ?? schema['oneOf']) as Schema[] | undefined
  if (alternatives !== undefined) {
    return alternatives.map(each => makeExample(each, resolve)).find(example => example !== undefined)
  }
  switch ([schema['type']].flat().find(type => type !== 'null')) {
    case 'boolean': return true
    case 'integer': case 'number': return makeNumber(schema)
    case 'string': return makeText(schema)
    case 'array': return makeList(schema, resolve)
    case 'object': return makeObject(schema, resolve)
    default: return undefined
  }
}

function readExample ({ example, examples }: Schema): unknown {
  return example ?? (examples as unknown[] | undefined)?.[0]
}

/** A value that the schema itself names. */
function readKnown (schema: Schema): unknown {
  const { default: given, const: literal, enum: values } = schema
  return readExample(schema) ?? given ?? literal ?? (values as unknown[] | undefined)?.[0]
}

function makeList ({ items = {} }: Schema, resolve: Resolve): unknown[] | undefined {
  const item = makeExample(items as Schema, resolve)
  return item === undefined ? undefined : [item]
}

// Optional members are included only if they have an example: others may not fit together.
function makeObject ({ properties = {}, required = [] }: Schema, resolve: Resolve): object | undefined {
  const made: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(properties as Record<string, Schema>)) {
    const isRequired = (required as string[]).includes(name)
    const value = isRequired ? makeExample(member, resolve) : readExample(member)
    if (value !== undefined) made[name] = value
    else if (isRequired) return undefined
  }
  return made
}

interface NumberSchema {
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly multipleOf?: number
}

function makeNumber (schema: NumberSchema): number | undefined {
  const { maximum = Infinity, exclusiveMaximum = Infinity, multipleOf: step = 1 } = schema
  const { minimum = step, exclusiveMinimum = 0 } = schema
  const least = Math.max(step, minimum, exclusiveMinimum + step)
  const value = Math.min(Math.ceil(least / step) * step, maximum)
  return value < exclusiveMaximum ? value : undefined
}

const formats: Readonly<Record<string, string>> = {
  date: '2030-01-31',
  'date-time': '2030-01-31T12:00:00.000Z',
  time: '12:00:00Z',
  email: 'ann@example.com',
  uri: 'https://example.com/',
  uuid: '01890a5d-ac96-774b-bcce-b302099a8057'
}

interface TextSchema {
  readonly format?: string
  readonly pattern?: string
  readonly description?: string
  readonly minLength?: number
  readonly maxLength?: number
}

function makeText (schema: TextSchema): string | undefined {
  const { format, pattern, description = 'Any text', minLength = 0, maxLength = Infinity } = schema
  if (pattern !== undefined) return undefined
  if (format !== undefined) return formats[format]
  return [...description.padEnd(minLength, '.')].slice(0, maxLength).join('')
}
