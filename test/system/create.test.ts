// `npm create fastify-dealbook`, and what it makes, with both packages as they would be published.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { unmeasured } from '../unmeasured.js'
import { hasCurl, hasSqlite, linkPackage, packOurs, packPackage, runIn, runLines, unpackPackage } from './packed.js'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly dependencies: Record<string, string>
  readonly optionalDependencies: Record<string, string>
  readonly devDependencies: Record<string, string>
  readonly engines: object
  readonly bin: Record<string, string>
}
const read = (path: string): Manifest => JSON.parse(readFileSync(path, 'utf8')) as Manifest

const work = await mkdtemp(join(tmpdir(), 'dealbook-create-'))
t.teardown(() => rm(work, { recursive: true, force: true }))
const { tarball, paths } = await packPackage(work, './create')
const creator = join(work, 'creator')
await mkdir(creator)
await promisify(execFile)('tar', ['-xzf', tarball, '--strip-components=1', '-C', creator])
const { bin } = read(join(creator, 'package.json'))
const program = join(creator, bin['create-fastify-dealbook'] as string)

const create = async (...parameters: string[]) => await runIn(work, process.execPath, [program, ...parameters])

t.test('its package has the program, the template and nothing else', async t => {
  t.strictSame(paths.sort(), [
    'LICENSE', 'README.md', 'index.js', 'package.json', 'template/README.md', 'template/gitignore',
    'template/package.json', 'template/src/app.ts', 'template/src/server.ts', 'template/src/tickets.ts',
    'template/test/tickets.test.ts', 'template/tsconfig.json'
  ])
  t.match(readFileSync(program, 'utf8'), /^#!\/usr\/bin\/env node\n/)
})

t.test('the template asks for the versions that are tested here', async t => {
  const ours = read('package.json')
  const { version, engines } = read('create/package.json')
  t.equal(version, ours.version)
  t.strictSame(engines, ours.engines)
  const template = read('create/template/package.json')
  t.strictSame(template.engines, ours.engines)
  t.equal(template.dependencies['fastify-dealbook'], `^${version}`)
  const others = { ...template.dependencies, ...template.optionalDependencies, ...template.devDependencies }
  delete others['fastify-dealbook']
  t.equal(Object.keys(others).length, 4)
  for (const [name, range] of Object.entries(others)) t.equal(range, ours.devDependencies[name], name)
})

t.test('it leaves alone what is there already, and says so', async t => {
  await mkdir(join(work, 'full'))
  await writeFile(join(work, 'full/notes.txt'), 'mine')
  t.equal((await create('full')).stderr, 'The folder full is not empty: choose a different name\n')
  t.strictSame(await readdir(join(work, 'full')), ['notes.txt'])
  t.equal((await create('full/notes.txt')).stderr, 'full/notes.txt is a file: choose a different name\n')
  t.equal(await readFile(join(work, 'full/notes.txt'), 'utf8'), 'mine')
  t.equal((await create('one', 'two')).stderr, 'One folder, not 2: npm create fastify-dealbook [folder]\n')
  t.match((await create('--template')).stderr, "Unknown option '--template'")
  t.equal((await create('--help')).stdout, 'npm create fastify-dealbook [folder]\n')
  t.notOk((await readdir(work)).some(name => /^(one|two|dealbook-app)$/.test(name)))
})

t.test('the name of the folder becomes that of the package', async t => {
  t.equal((await create()).stdout, 'Next:\n  cd dealbook-app\n  npm install\n  npm test\n  npm start\n')
  t.equal(read(join(work, 'dealbook-app/package.json')).name, 'dealbook-app')
  t.match((await create('Our Tea & Co')).stdout, '  cd "Our Tea & Co"\n')
  t.equal(read(join(work, 'Our Tea & Co/package.json')).name, 'our-tea-co')
  // A new repository, and the folder in which one is.
  await mkdir(join(work, 'clone/.git'), { recursive: true })
  const { stdout } = await runIn(join(work, 'clone'), process.execPath, [program, '.'])
  t.equal(stdout, 'Next:\n  npm install\n  npm test\n  npm start\n')
  t.equal(read(join(work, 'clone/package.json')).name, 'clone')
})

t.test('what it makes compiles, passes its tests, and serves', async t => {
  await create('my-api')
  const host = join(work, 'my-api')
  t.match(await readFile(join(host, '.gitignore'), 'utf8'), /^node_modules\n/)
  // As after npm install; links are enough here.
  const ours = await packOurs()
  await unpackPackage(host, ours.tarball)
  for (const name of ['fastify', 'typescript', '@types/node']) await linkPackage(host, name)
  if (!hasSqlite) await linkPackage(host, '@photostructure/sqlite')
  await mkdir(join(host, 'node_modules/.bin'))
  await symlink('../typescript/bin/tsc', join(host, 'node_modules/.bin/tsc'))

  const tested = await runIn(host, 'npm', ['test'])
  t.match(tested.stdout, /^# pass 4$|^ℹ pass 4$/m)
  t.match(tested.stdout, /^# fail 0$|^ℹ fail 0$/m)

  const env = { ...process.env, PORT: '0', NODE_OPTIONS: '' }
  const server = spawn(process.execPath, ['build/src/server.js'], { cwd: host, env })
  t.teardown(() => server.kill('SIGKILL'))
  const ended = once(server, 'exit')
  const [said] = await Promise.race([once(server.stdout, 'data'), ended]) as [Buffer]
  const [, url] = /^(http:\/\/127\.0\.0\.1:\d+)\/rest\/v1\/tickets\n$/.exec(String(said)) ?? []
  t.ok(url, String(said))
  await t.test('as its README says', { skip: !hasCurl && 'there is no curl' }, async t => {
    const [, lines = ''] = /^```sh\n(curl .+?)^```$/ms.exec(await readFile(join(host, 'README.md'), 'utf8')) ?? []
    const shown = await runLines(lines.replaceAll('http://127.0.0.1:3000', url as string).replaceAll('curl ',
      "curl -sS -w '\\n' "), host)
    const answers = shown.trim().split('\n').map(line => JSON.parse(line) as object)
    t.match(answers, [{ id: 1, status: 'open' }, { id: 1, status: 'resolved', answer: 'Here it is', revision: 2 }])
  })
  const again = await fetch(`${url}/rest/v1/tickets`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"subject":"No cups"}'
  })
  t.equal(again.status, 201)
  const resolved = await fetch(new URL(`${again.headers.get('location')}/resolve`, url), {
    method: 'PUT', headers: { 'content-type': 'application/json' }, body: '{"answer":"In the kitchen"}'
  })
  t.match(await resolved.json(), { status: 'resolved', answer: 'In the kitchen' })
  t.equal((await fetch(`${url}/health`)).status, 200)
  server.kill('SIGTERM')
  t.strictSame(await ended, [0, null])
  t.ok((await readdir(host)).includes('tickets.db'))
})

t.test('npm runs it as a package', async t => {
  const modules = join(work, 'node_modules')
  await mkdir(join(modules, '.bin'), { recursive: true })
  await symlink(creator, join(modules, 'create-fastify-dealbook'))
  await symlink('../create-fastify-dealbook/index.js', join(modules, '.bin/create-fastify-dealbook'))
  await writeFile(join(work, 'package.json'), '{}')
  await promisify(execFile)(...unmeasured('npm', ['create', '--offline', 'fastify-dealbook', 'by-npm']), { cwd: work })
  t.equal(read(join(work, 'by-npm/package.json')).name, 'by-npm')
})
