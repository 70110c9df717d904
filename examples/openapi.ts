// What the server gives to @fastify/swagger: texts of tags, and a function that makes the document shorter.

export const tags = [
  { name: 'home', description: 'Which families there are' },
  { name: 'customers', description: 'Read as pages, with filters' },
  { name: 'deals', description: 'Read, created and deleted' },
  { name: 'deals: operations', description: 'What can be done with a deal, in several forms that mean the same' },
  { name: 'deals: commands', description: 'The log of what was done, and commands by name or under an id' },
  { name: 'commands', description: 'Commands of all families, under ids that clients choose' }
]

/** A part of a document. */
type Json = Record<string, any>

/** For `transformObject`: shares what operations repeat, marks optional bodies, and drops unused schemas. */
export function shortenDocument (parts: object): object {
  const { openapiObject: document } = parts as { openapiObject: Json }
  const { components, paths } = document
  const shareParameter = makeShare(components, 'parameters')
  const shareResponse = makeShare(components, 'responses')
  for (const operation of Object.values<Json>(paths).flatMap(path => Object.values<Json>(path))) {
    operation.parameters = operation.parameters?.map((each: Json) => shareParameter(each.name, each))
    for (const [status, response] of Object.entries<Json>(operation.responses)) {
      operation.responses[status] = shareResponse(`Status${status}`, response)
    }
    const body = operation.requestBody
    // To the families, no body is the empty object.
    if (body !== undefined) body.required = !takesNothing(components, Object.values<Json>(body.content)[0]?.schema)
  }
  // Of a version that left its unversioned paths to another.
  const text = JSON.stringify(document)
  for (const name of Object.keys(components.schemas)) {
    if (!text.includes(`"#/components/schemas/${name}"`)) delete components.schemas[name]
  }
  return document
}

/** Makes a function that puts a part into the components of a document and returns a reference to it. */
function makeShare (components: Json, kind: string): (name: string, part: Json) => Json {
  const shared: Json = components[kind] = {}
  const names = new Map<string, string>()
  return (name, part) => {
    const text = JSON.stringify(part)
    const known = names.get(text) ?? (name in shared ? `${name}.${names.size}` : name)
    names.set(text, known)
    shared[known] = part
    return { $ref: `#/components/${kind}/${known}` }
  }
}

function takesNothing (components: Json, schema: Json = {}): boolean {
  if (schema.$ref !== undefined) return takesNothing(components, components.schemas[schema.$ref.split('/').at(-1)])
  if (schema.anyOf !== undefined) return schema.anyOf.some((each: Json) => takesNothing(components, each))
  return schema.type === 'object' && (schema.required ?? []).length === 0
}
