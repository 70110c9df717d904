import { countDecimals } from './decimals.js'

interface Schema {
  readonly type?: string | readonly string[]
  readonly [keyword: string]: any
}

/** A value that the schema allows, from its examples or its members; undefined if no valid one is known. */
export function makeExample (schema: Schema): unknown {
  const known = readExample(schema) ?? schema['default'] ?? schema['const'] ?? schema['enum']?.[0]
  if (known !== undefined) return known
  const alternatives: readonly Schema[] | undefined = schema['anyOf'] ?? schema['oneOf']
  if (alternatives !== undefined) return alternatives.map(makeExample).find(example => example !== undefined)
  const type = [schema.type].flat().find(type => type !== 'null') ?? ''
  return makers[type]?.(schema)
}

const makers: Readonly<Record<string, (schema: Schema) => unknown>> = {
  boolean: () => true,
  integer: makeNumber,
  number: makeNumber,
  string: makeText,
  array ({ items = {} }) {
    const item = makeExample(items)
    return item === undefined ? undefined : [item]
  },
  object: makeObject
}

function readExample ({ example, examples }: Schema): unknown {
  return example ?? examples?.[0]
}

// Optional members need an example to be included: made-up ones may not fit together.
function makeObject ({ properties = {}, required = [] }: Schema): object | undefined {
  const made: Record<string, unknown> = {}
  for (const [name, member] of Object.entries<Schema>(properties)) {
    const isRequired = required.includes(name)
    const value = isRequired ? makeExample(member) : readExample(member)
    if (value !== undefined) made[name] = value
    else if (isRequired) return undefined
  }
  return made
}

function makeNumber (schema: Schema): number | undefined {
  const { maximum = Infinity, exclusiveMaximum = Infinity, multipleOf: step = 1 } = schema
  const { minimum = step, exclusiveMinimum = 0 } = schema
  const least = Math.max(step, minimum, exclusiveMinimum + step)
  const multiple = Number((Math.ceil(least / step) * step).toFixed(Math.min(countDecimals(step), 100)))
  const value = Math.min(multiple, maximum)
  return value < exclusiveMaximum ? value : undefined
}

const formatExamples: Readonly<Record<string, string>> = {
  date: '2030-01-31',
  'date-time': '2030-01-31T12:00:00.000Z',
  time: '12:00:00Z',
  email: 'ann@example.com',
  uri: 'https://example.com/',
  uuid: '01890a5d-ac96-774b-bcce-b302099a8057'
}

function makeText (schema: Schema): string | undefined {
  const { format, pattern, description = 'Any text', minLength = 0, maxLength = Infinity } = schema
  if (pattern !== undefined) return undefined
  if (format !== undefined) return formatExamples[format]
  return Array.from<string>(description.padEnd(minLength, '.')).slice(0, maxLength).join('')
}
