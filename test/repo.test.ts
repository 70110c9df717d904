import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { parse as parseYaml } from 'yaml'
import { ServiceFields } from '../lib/core/family/fields.js'
import { reservedNames } from '../lib/core/query/filters.js'
import { forms } from '../lib/http/forms/forms.js'
import { defineFamily, errorCodes, Problem, problemCodes, Type } from '../lib/index.js'
import { findChunk } from './browser/apng.js'
import { pages } from './docs/pages.js'

const documentation = [...pages.values()].join('\n')
const entries = [
  'lib/index.ts',
  'lib/html/index.ts',
  'lib/storage/sqlite/sqlite-storage.ts',
  'lib/storage/postgres/postgres-storage.ts',
  'lib/tools/index.ts',
  'lib/webhooks/webhooks.ts',
  'lib/mcp/mcp.ts',
  'lib/conformance/storage-conformance.ts'
]
const parse = (path: string) => ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.ESNext, true)
const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => join(folder, name))

interface Exported {
  readonly name: string
  readonly declaration?: ts.Node | undefined
  /** Whether it comes from another package, and is described there. */
  readonly isForeign?: boolean
}

/** Each name that a file exports, its own and those of others, with the declaration it stands for. */
function exportsOf (path: string): Exported[] {
  return parse(path).statements.flatMap((statement): Exported[] => {
    if (!ts.isExportDeclaration(statement)) {
      return isExported(statement) ? [{ name: nameOf(statement), declaration: statement }] : []
    }
    const { text: from } = statement.moduleSpecifier as ts.StringLiteral
    if (statement.exportClause === undefined) return exportsOf(join(dirname(path), from.replace(/\.js$/, '.ts')))
    const { elements } = statement.exportClause as ts.NamedExports
    if (!from.startsWith('.')) return elements.map(({ name }) => ({ name: name.text, isForeign: true }))
    const source = join(dirname(path), from.replace(/\.js$/, '.ts'))
    return elements.map(({ name, propertyName = name }) =>
      ({ name: name.text, declaration: findDeclaration(source, propertyName.getText()) }))
  })
}

function findDeclaration (path: string, name: string): ts.Node | undefined {
  const own = parse(path).statements.find(each => nameOf(each) === name)
  // Otherwise the file passes it on.
  return own ?? exportsOf(path).find(each => each.name === name)?.declaration
}

function isExported (statement: ts.Statement): boolean {
  return (
    ts.canHaveModifiers(statement) &&
    ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true
  )
}

function nameOf (statement: ts.Statement): string {
  if (ts.isVariableStatement(statement)) return statement.declarationList.declarations[0]?.name.getText() ?? ''
  return (statement as Partial<ts.FunctionDeclaration>).name?.text ?? ''
}

t.test('every export has TSDoc, and is in the documentation', async t => {
  const exported = entries.flatMap(exportsOf)
  t.ok(exported.length > 70)
  for (const { name, declaration, isForeign = false } of exported) {
    const comments = declaration === undefined ? [] : ts.getJSDocCommentsAndTags(declaration)
    t.ok(isForeign || comments.length > 0, `${name} has TSDoc`)
    if (name !== 'default') t.match(documentation, new RegExp(`\`${name}\\b`), `${name} is documented`)
  }
})

t.test('every option of a storage, and of mcp, is documented', async t => {
  for (const [path, type] of [
    ['lib/storage/sqlite/sqlite-storage.ts', 'SqliteOptions'],
    ['lib/storage/postgres/postgres-storage.ts', 'PostgresOptions'],
    ['lib/storage/sql/options.ts', 'SqlOptions'],
    ['lib/storage/memory/memory-storage.ts', 'MemoryOptions'],
    ['lib/mcp/mcp.ts', 'McpOptions']
  ] as const) {
    const members = membersOf(path, type)
    t.ok(members.length > 1, type)
    for (const { name } of members) t.match(documentation, `\n| \`${name?.getText()}\` |`, `${type}.${name?.getText()}`)
  }
})

function membersOf (path: string, type: string): readonly ts.TypeElement[] {
  return parse(path).statements.filter(ts.isInterfaceDeclaration).find(({ name }) => name.text === type)?.members ?? []
}

t.test('every option of a family has its row in docs/options.md, and its TSDoc', async t => {
  const options = membersOf('lib/http/plugin/options.ts', 'FamilyOptions')
  t.ok(options.length > 15)
  for (const member of options) {
    t.ok(ts.getJSDocCommentsAndTags(member).length > 0, `${member.name?.getText()} has TSDoc`)
  }
  const [ofFamilies] = (pages.get('docs/options.md') as string).split('\n## Other options') as [string]
  const rows = [...ofFamilies.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
  t.strictSame(rows.sort(), options.map(({ name }) => name?.getText()).sort())
})

t.test('every dependency has its row in docs/security.md', async t => {
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: Record<string, string> }
  const [, section = ''] = (pages.get('docs/security.md') as string).split('\n## Dependencies\n')
  const rows = [...section.matchAll(/^\| \[([\w@/-]+)\]\(https:/gm)].map(([, name]) => name)
  t.strictSame(rows.sort(), Object.keys(dependencies).sort())
})

t.test('the number of forms that the documentation names is right', async t => {
  const words = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']
  const said = [...documentation.matchAll(/\b(\w+) (?:URL )?(?:forms|ways)\b/gi)]
    .map(([, number]) => words.indexOf((number as string).toLowerCase()))
    .filter(number => number > 2)
  t.ok(said.length > 2, `${said.length} times`)
  for (const number of said) t.equal(number, forms.length)
})

t.test('the names that no field can have are in docs/operations.md', async t => {
  const [row = ''] = /^\| a field \|.*$/m.exec(pages.get('docs/operations.md') as string) ?? []
  const taken = [...reservedNames, ...Object.keys(ServiceFields.properties), 'links', 'action', 'expand', 'or', 'or1']
  t.strictSame([...row.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort(), taken.sort())
  for (const name of taken) {
    const fields = Type.Object({ id: Type.Integer(), [name]: Type.Optional(Type.String()) })
    const define = () => defineFamily({ name: 'things', singular: 'thing', fields })
    t.throws(define, { code: 'FST_DEALBOOK_INVALID_DEFINITION' }, name)
  }
})

t.test('every problem has its row in the documentation, with its status', async t => {
  for (const [code, { status, title }] of Object.entries(problemCodes)) {
    t.match(documentation, `\n| \`${code}\` | ${status} |`, code)
    t.match(code, /^[a-z]+(-[a-z]+)*$/)
    t.ok(title, `${code} has a title`)
    t.ok(status >= 400 && status < 600, `${code} is a refusal`)
  }
  const rows = [...documentation.matchAll(/^\| `([a-z-]+)` \| [45]\d\d \|/gm)].map(([, code]) => code)
  t.strictSame(rows.sort(), Object.keys(problemCodes).sort(), 'and no other')
})

t.test('every member of a problem is in docs/errors.md', async t => {
  const [, section = ''] = (pages.get('docs/errors.md') as string).split('`error instanceof Problem` has:')
  const [table = ''] = section.split('\n\n`document()`')
  const listed = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
  const problem = new Problem('taken', 'a', { cause: 'b' })
  const members = Object.getOwnPropertyNames(problem).filter(name => name !== 'stack')
  t.strictSame(listed.sort(), members.sort())
})

t.test('every error of a host is in docs/errors.md, with its code and its use', async t => {
  const sources = filesIn('lib').map(path => readFileSync(path, 'utf8')).join('\n')
  const [, section = ''] = (pages.get('docs/errors.md') as string).split('\n## Host errors\n')
  const listed = [...section.matchAll(/`(FST_\w+)`/g)].map(([, code]) => code)
  t.same(listed, Object.keys(errorCodes), 'in the order of the table')
  for (const [code, HostError] of Object.entries(errorCodes)) {
    t.match(code, /^FST_DEALBOOK(_[A-Z]+)+$/)
    t.match(new HostError(...'abcdefgh'), { code, name: 'FastifyError', message: /^[^%]+$/ }, code)
    t.ok(sources.includes(`errorCodes.${code}(`), `${code} is thrown`)
  }
  const named = new Set([...documentation.matchAll(/\bFST_DEALBOOK_\w+/g)].map(([code]) => code))
  t.same([...named].filter(code => !Object.hasOwn(errorCodes, code)), [], 'and no other is named')
})

t.test('the security page has the ten risks of OWASP, each with the tests that show it', async t => {
  const page = pages.get('docs/security.md') as string
  const rows = [...page.matchAll(/^\| API(\d+):2023 [^|]+\|[^|]+\|[^|]+\|([^|]+)\|$/gm)]
  t.strictSame(rows.map(([, number]) => Number(number)), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  for (const [, number, tests] of rows) t.match(tests, /`test\/[\w./-]+\.test\.ts`/, `API${number}`)
  t.ok(existsSync('SECURITY.md'))
})

/** The names of the tests in a file; of a template, the text after each of its values. */
function testsIn (path: string): string[] {
  const names: string[] = []
  const visit = (node: ts.Node): void => {
    const [name] = ts.isCallExpression(node) && /\.test$/.test(node.expression.getText()) ? node.arguments : []
    if (name !== undefined && ts.isStringLiteralLike(name)) names.push(name.text)
    if (name !== undefined && ts.isTemplateExpression(name)) {
      names.push(...name.templateSpans.map(({ literal }) => literal.text.replace(/^[: ]+/, '')))
    }
    ts.forEachChild(node, visit)
  }
  visit(parse(path))
  return names
}

t.test('every promise of the security page names the tests that hold it', async t => {
  const [, promised = ''] = (pages.get('docs/security.md') as string).split('\n## Promises\n')
  const [table = ''] = promised.split('\n## ')
  const rows = table.split('\n').filter(line => line.startsWith('| ')).slice(1)
  t.ok(rows.length > 20, `${rows.length} promises`)
  for (const row of rows) {
    const [, promise, , tests = ''] = row.split(' | ').length === 3 ? ['', ...row.split(' | ')] : []
    const named = [...tests.matchAll(/`(test\/[\w./-]+\.test\.ts)`: "(.+?)"/g)]
    t.ok(named.length > 0, `${promise}: has a test`)
    for (const [, path, name] of named) {
      t.ok(testsIn(path as string).includes(name as string), `${path}: ${name}`)
    }
  }
})

t.test('the animation of the README is one, and small', async t => {
  const picture = readFileSync('docs/tour.png')
  t.ok(picture.length < 500_000, `${picture.length} bytes`)
  t.equal(findChunk(picture, 'acTL').readUInt32BE(), findChunk(picture, 'fcTL').length / 26, 'as many as it says')
  t.match(pages.get('README.md'), '](docs/tour.png)')
})

t.test('the figures of the README are those of the last run in bench/README.md', async t => {
  const tables = readFileSync('bench/README.md', 'utf8')
  const shown = [...(pages.get('README.md') as string).matchAll(/^\| ([\w ,]+) \| ([\d.]+) \| [\d.]+ \|$/gm)]
  t.equal(shown.length, 3)
  for (const [, scenario, ratio] of shown) {
    const [, ours] = new RegExp(`^\\| ${scenario} +\\|[^]*?^\\| +\\| ours, SQLite +\\|(.+)\\|$`, 'm').exec(tables) ?? []
    // CPU time, the ratio to the floor, and then that to the expert.
    t.equal(ratio, ours?.split('|')[2]?.trim(), `${scenario}`)
  }
})

t.test('every script or file that the documentation names is there', async t => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
  const named = [...documentation.matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name as string)
  for (const name of named) t.ok(scripts[name], `npm run ${name}`)
  const paths = [...documentation.matchAll(/`((?:examples|test|\.ci)\/[\w./-]+)`/g)].map(([, path]) => path as string)
  for (const path of paths) t.ok(existsSync(path), `${path} is there`)
  t.ok(named.length > 3 && paths.length > 3, `${named.length} scripts, ${paths.length} files`)
})

t.test('every script that a workflow runs is there, and the versions are those of package.json', async t => {
  const { scripts, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, Scripts>
  const { jobs } = parseYaml(readFileSync('.github/workflows/ci.yml', 'utf8')) as { jobs: Record<string, Job> }
  t.strictSame(jobs['all']?.strategy.matrix.node, [20, 22, 24])
  const others = jobs['next']?.strategy.matrix.include ?? []
  t.ok(others.length > 1)
  for (const { package: name, test } of others) {
    const at = name.lastIndexOf('@')
    t.ok(peerDependencies?.[name.slice(0, at)]?.endsWith(`|| ${name.slice(at + 1)}`), name)
    const [, script = ''] = /npm run ([\w:]+)/.exec(test) ?? []
    t.ok(scripts?.[script], test)
  }
})

type Scripts = Record<string, string>
interface Job {
  strategy: { matrix: { node?: number[], include?: { package: string, test: string }[] } }
}

t.test('every example is run or imported by a test', async t => {
  const tests = filesIn('test').map(path => readFileSync(path, 'utf8')).join('\n')
  const examples = filesIn('examples')
  const reached = new Set(examples.filter(path => tests.includes(path.replace(/\.ts$/, '.js'))))
  // A set grows while it is walked over.
  for (const path of reached) {
    const text = readFileSync(path, 'utf8')
    for (const [, name] of text.matchAll(/from '\.\/([\w-]+)\.js'/g)) reached.add(join('examples', `${name}.ts`))
  }
  t.ok(examples.length > 5)
  for (const path of examples) t.ok(reached.has(path), path)
})

t.test('the lock file names no place to download from', async t => {
  t.notMatch(readFileSync('package-lock.json', 'utf8'), /"resolved": "https?:/)
})

t.test('what starts other programs lies in test/system or test/tools, and nothing else does', async t => {
  const startsPrograms = /from '(node:child_process|\.\.?\/(example-server|postgres\/server)\.js)'/
  const tests = filesIn('test').filter(path => path.endsWith('.test.ts') && !path.startsWith('test/storage/'))
  t.ok(tests.length > 20)
  for (const path of tests) {
    if (/^test\/(system|tools)\//.test(path)) continue
    t.notMatch(readFileSync(path, 'utf8'), startsPrograms, path)
  }
})
