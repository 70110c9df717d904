// Measures the structure of this package: its size, its import cycles, and the path of a request. `npm run house`
// measures this checkout, `npm run house -- DIR` a different, built one.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = resolve(dirname(fileURLToPath(import.meta.url)), '..')
const root = resolve(process.argv[2] ?? here)
const ts = createRequire(join(here, 'package.json'))('typescript')

const satellites = [
  ['mcp', ['mcp']],
  ['webhooks', ['webhooks']],
  ['tools', ['tools']],
  ['pages and OpenAPI', ['html', 'pages', 'http/openapi', 'openapi']]
]
const sources = listFiles(join(root, 'lib'), '.ts').filter(path => !path.includes('/conformance/'))
const rows = [...measureSources(), ...measureRequests()]
const width = Math.max(...rows.map(([name]) => name.length))
for (const [name, value, goal] of rows) {
  console.log(`${name.padEnd(width)}  ${String(value).padStart(6)}  goal ${goal}`)
}

function listFiles (folder, ending) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith(ending))
    .map(name => join(folder, name))
    .sort()
}

function measureSources () {
  const lines = sources.map(path => readFileSync(path, 'utf8').split('\n').length - 1)
  return [
    ['lines of lib without conformance', lines.reduce((sum, count) => sum + count, 0), '-'],
    ['lines that a JSON mount loads', countLoaded(join(root, 'lib/http/plugin/define-family.ts')), '12500'],
    ...satellites.map(([name, folders]) => [`private imports of ${name}: modules, names`, countPrivate(folders), '0']),
    ['names declared in more than one file', countRepeated(), '60'],
    ['circles of files', countCircles(path => path), '0'],
    // Files in lib itself are rooms of their own.
    ['circles of folders', countCircles(path => dirname(path) === join(root, 'lib') ? path : dirname(path)), '0'],
    ['private parts of others', listPrivateParts().join(', ') || 0, '0'],
    ['options of a mount', countOptions(), '22']
  ]
}

/** What a file imports, with the names that it takes. */
function listImports (path) {
  const file = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest)
  return file.statements.flatMap(node => {
    const from = node.moduleSpecifier?.text
    if (from === undefined || !from.startsWith('.')) return []
    const { importClause: clause = node.exportClause && { namedBindings: node.exportClause } } = node
    const elements = clause?.namedBindings?.elements ?? []
    const isType = node.isTypeOnly === true || clause?.isTypeOnly === true ||
      (elements.length > 0 && elements.every(each => each.isTypeOnly))
    const names = elements.map(({ propertyName, name }) => (propertyName ?? name).text)
    return [{ path: join(dirname(path), from.replace(/\.js$/, '.ts')), names, isType }]
  })
}

/** Lines of the files that are loaded with one at run time, without those of pages and OpenAPI. */
function countLoaded (start) {
  const loaded = new Set([start])
  for (const path of loaded) {
    for (const { path: next, isType } of listImports(path)) {
      if (!isType && !/lib\/(?:http\/)?openapi\//.test(next)) loaded.add(next)
    }
  }
  const lines = Array.from(loaded, path => readFileSync(path, 'utf8').split('\n').length - 1)
  return lines.reduce((sum, count) => sum + count, 0)
}

/** What satellites take from elsewhere, except from what a host can import too. */
function countPrivate (folders) {
  const own = sources.filter(path => folders.some(folder => path.startsWith(join(root, 'lib', folder, '/'))))
  const open = [...own, ...listEntries()]
  const taken = own.flatMap(listImports).filter(({ path }) => !open.includes(path))
  const names = taken.flatMap(({ path, names }) => names.map(name => `${path} ${name}`))
  return `${new Set(taken.map(({ path }) => path)).size}, ${new Set(names).size}`
}

/** The files that a host can import, and that of which an entry passes on everything. */
function listEntries () {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const entries = Object.values(exports).flatMap(({ default: file }) =>
    file === undefined ? [] : join(root, file.replace('build/', '').replace(/\.js$/, '.ts')))
  return [...entries, join(root, 'lib/exports.ts')]
}

/** Of functions, classes, types and constants at the top of a file. */
function countRepeated () {
  const owners = new Map()
  for (const path of sources) {
    const file = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest)
    const names = file.statements.flatMap(node => ts.isVariableStatement(node)
      ? node.declarationList.declarations.map(({ name }) => name.text)
      : [node.name?.text])
    for (const name of new Set(names.filter(Boolean))) owners.set(name, (owners.get(name) ?? 0) + 1)
  }
  return [...owners.values()].filter(count => count > 1).length
}

/** Groups of nodes that reach each other, types included. */
function countCircles (nodeOf) {
  const graph = new Map()
  for (const path of sources) {
    const imports = graph.get(nodeOf(path)) ?? new Set()
    graph.set(nodeOf(path), imports)
    for (const { fileName } of ts.preProcessFile(readFileSync(path, 'utf8')).importedFiles) {
      if (!fileName.startsWith('.')) continue
      const imported = nodeOf(join(dirname(path), fileName.replace(/\.js$/, '.ts')))
      if (imported !== nodeOf(path)) imports.add(imported)
    }
  }
  const reach = start => {
    const reached = new Set()
    const open = [start]
    while (open.length > 0) {
      for (const next of graph.get(open.pop()) ?? []) {
        if (!reached.has(next)) reached.add(next) && open.push(next)
      }
    }
    return reached
  }
  const reached = new Map([...graph.keys()].map(node => [node, reach(node)]))
  const circles = [...graph.keys()].filter(node => reached.get(node).has(node))
    .map(node => [...graph.keys()].filter(other => reached.get(node).has(other) && reached.get(other).has(node)).join())
  return new Set(circles).size
}

/** Private parts of other packages that must not be used. */
function listPrivateParts () {
  const parts = {
    re2js: /\b(?:re2\.dfa|onepass|\.prog\b)/,
    fastify: /getOwnPropertySymbols/,
    pg: /\bsecretKey\b/,
    swagger: /\bswaggerTransform\b/,
    v8: /\bexecutionAsyncResource\b/
  }
  const text = sources.map(path => readFileSync(path, 'utf8')).join('\n')
  return Object.keys(parts).filter(name => parts[name].test(text))
}

function countOptions () {
  for (const path of sources) {
    const file = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest)
    const found = file.statements.find(node => ts.isInterfaceDeclaration(node) && node.name.text === 'FamilyOptions')
    if (found !== undefined) return found.members.length
  }
}

/** Runs requests in a separate process, on a copy of the build in which every function reports its calls. */
function measureRequests () {
  const built = join(root, 'build/lib')
  if (!existsSync(built)) throw new Error('Not built: npm run build')
  const copy = mkdtempSync(join(root, 'build/house-'))
  try {
    const lib = join(copy, 'build/lib')
    mkdirSync(lib, { recursive: true })
    cpSync(join(root, 'package.json'), join(copy, 'package.json'))
    for (const path of listFiles(built, '.js')) {
      const target = join(lib, relative(built, path))
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, instrument(readFileSync(path, 'utf8'), relative(built, path)))
    }
    const script = join(here, 'tools/house-requests.js')
    return JSON.parse(execFileSync(process.execPath, [script, copy, root], { encoding: 'utf8' }))
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

/** The same module, in which every function first calls `enterFunction` with the name of its file. */
function instrument (text, name) {
  const insertions = []
  const call = `globalThis.enterFunction(${JSON.stringify(name)})`
  const visit = node => {
    const body = ts.isFunctionLike(node) ? node.body : undefined
    if (body !== undefined && ts.isBlock(body)) insertions.push([body.getStart() + 1, `${call};`])
    else if (body !== undefined) insertions.push([body.getStart(), `(${call}, `], [body.end, ')'])
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS))
  // From the end, so that positions stay right; of two at one position, the outer closes last.
  const ordered = insertions.map((insertion, index) => [...insertion, index])
    .sort(([at, , index], [otherAt, , otherIndex]) => otherAt - at || otherIndex - index)
  return ordered.reduce((made, [at, inserted]) => made.slice(0, at) + inserted + made.slice(at), text)
}
