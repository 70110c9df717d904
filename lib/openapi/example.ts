import type { Json } from './components.js'

/**
 * An example of a schema: the one that it has, or else one made of those of its members. Undefined where no value is
 * known that would be valid.
 *
 * @param resolve finds what a reference means
 */
export function makeExample (schema: Json, resolve: (schema: Json) => Json): unknown {
  const known = readKnown(schema)
  if (known !== undefined) return known
  if (schema['$ref'] !== undefined) return makeExample(resolve(schema), resolve)
  const alternatives = (schema['anyOf'] ?? schema['oneOf']) as Json[] | undefined
  if (alternatives !== undefined) {
    return alternatives.map(each => makeExample(each, resolve)).find(example => example !== undefined)
  }
  if (schema['type'] === 'object') return makeObject(schema, resolve)
  if (schema['type'] !== 'array') return makePlain(schema)
  const item = makeExample((schema['items'] ?? {}) as Json, resolve)
  return item === undefined ? undefined : [item]
}

function readExample ({ example, examples }: Json): unknown {
  return example ?? (examples as unknown[] | undefined)?.[0]
}

/** What a schema itself says. */
function readKnown (schema: Json): unknown {
  const { default: given, const: literal, enum: values } = schema
  return readExample(schema) ?? given ?? literal ?? (values as unknown[] | undefined)?.[0]
}

// Of what may be left out there is only what has an example of its own: the others may not fit together.
function makeObject ({ properties = {}, required = [] }: Json, resolve: (schema: Json) => Json): Json | undefined {
  const made: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(properties as Record<string, Json>)) {
    const isRequired = (required as string[]).includes(name)
    const value = isRequired ? makeExample(member, resolve) : readExample(member)
    if (value !== undefined) made[name] = value
    else if (isRequired) return undefined
  }
  return made
}

const formats: Readonly<Record<string, string>> = {
  date: '2030-01-31',
  'date-time': '2030-01-31T12:00:00.000Z',
  email: 'ann@example.org',
  uri: 'https://example.org/a',
  uuid: '01890a5d-ac96-774b-bcce-b302099a8057'
}

function makePlain ({ type, format, pattern, minLength = 1, maxLength = Infinity, ...schema }: Json): unknown {
  if (type === 'boolean') return true
  if (type === 'number' || type === 'integer') return makeNumber(schema)
  if (type !== 'string' || pattern !== undefined) return undefined
  if (format !== undefined) return formats[format as string]
  return 'text'.padEnd(minLength as number, '.').slice(0, maxLength as number)
}

function makeNumber ({ minimum = 1, maximum = Infinity, ...others }: Json): number | undefined {
  const isSimple = ['exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'].every(name => others[name] === undefined)
  return isSimple ? Math.min(Math.max(minimum as number, 1), maximum as number) : undefined
}
