// The Dockerfile and compose.yaml, read: test/tools/container.test.ts runs the commands. Nothing here builds an image.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { readSettings } from '../examples/settings.js'
import { readCommand, readDockerfile, readVariables, type Stage } from './dockerfile.js'

interface Manifest {
  readonly scripts: Record<string, string>
  readonly dependencies: Record<string, string>
  readonly peerDependencies: Record<string, string>
  readonly devDependencies: Record<string, string>
}
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
const stages = readDockerfile()
const [, dependencies, image] = stages as [Stage, Stage, Stage]

/** The packages that a file and what it imports import. */
function packagesOf (path: string, seen = new Set<string>()): string[] {
  if (seen.has(path)) return []
  seen.add(path)
  const names = [...readFileSync(path, 'utf8').matchAll(/^import (?!type).*from '([^']+)'/gm)].map(([, name]) => name)
  return (names as string[]).flatMap(name => {
    if (name.startsWith('.')) return packagesOf(join('examples', name.replace(/\.js$/, '.ts')), seen)
    return name.startsWith('node:') || name.startsWith('fastify-dealbook') ? [] : [name]
  })
}

t.test('every instruction is a known one, and every image has a version', async t => {
  const known = /^(CMD|COPY|ENV|EXPOSE|HEALTHCHECK|RUN|USER|VOLUME|WORKDIR)$/
  t.equal(stages.length, 3)
  for (const { image, instructions } of stages) {
    t.equal(image, 'node:22-slim')
    t.ok(instructions.length > 3)
    for (const { word } of instructions) t.match(word, known)
  }
})

t.test('what is copied is there, and is not ignored', async t => {
  const kept = readFileSync('.dockerignore', 'utf8').match(/(?<=^!).+/gm) ?? []
  const used = new Set<string>()
  for (const [index, { instructions }] of stages.entries()) {
    for (const { flags, text } of instructions.filter(({ word }) => word === 'COPY')) {
      const sources = text.split(' ').slice(0, -1)
      t.ok(sources.length > 0, text)
      if (flags['from'] !== undefined) {
        t.ok(stages.slice(0, index).some(({ name }) => name === flags['from']), text)
        continue
      }
      for (const source of sources) {
        used.add(source)
        t.ok(existsSync(source), source)
      }
    }
  }
  t.strictSame([...used].sort(), [...kept].sort())
  t.match(readFileSync('.dockerignore', 'utf8'), /^\*$/m, 'all else is')
})

t.test('its scripts are in package.json, and packages run no scripts of theirs', async t => {
  const commands = stages.flatMap(({ instructions }) => instructions.filter(({ word }) => word === 'RUN'))
  const scripts = commands.flatMap(({ text }) => [.../npm run ([\w:]+)/.exec(text) ?? []].slice(1))
  t.strictSame(scripts, ['build'])
  for (const script of scripts) t.ok(manifest.scripts[script], script)
  const installs = commands.filter(({ text }) => /npm (ci|install)/.test(text))
  t.equal(installs.length, 2)
  for (const { text } of installs) t.match(text, ' --ignore-scripts')
})

t.test('it has the packages that the server imports, and the driver of PostgreSQL', async t => {
  const { text = '' } = dependencies.instructions.find(({ word }) => word === 'RUN') ?? {}
  const [, names = ''] = /of \[(.*?)\]/.exec(text) ?? []
  const moved = [...names.matchAll(/'([^']+)'/g)].map(([, name]) => name as string)
  // Node 22 has SQLite.
  const drivers = Object.keys(manifest.peerDependencies).filter(name => !/^fastify$|sqlite$/.test(name))
  t.strictSame(moved.sort(), [...new Set([...packagesOf('examples/server.ts'), ...drivers])].sort())
  for (const name of moved) t.ok(manifest.devDependencies[name], name)
})

t.test('it runs as a user without rights, gets the signals itself, and says how it is', async t => {
  const words = image.instructions.map(({ word }) => word)
  t.equal(image.instructions.find(({ word }) => word === 'USER')?.text, 'node')
  t.ok(words.indexOf('USER') < words.indexOf('RUN'), 'what is made then is the own of that user')
  const [program, file = ''] = readCommand(image, 'CMD')
  t.equal(program, 'node')
  t.ok(existsSync(file.replace(/^build\/(.*)\.js$/, '$1.ts')), file)
  const check = readCommand(image, 'HEALTHCHECK').join(' ')
  const [, path] = /\$\{process\.env\.PORT\}(\/\w+)`/.exec(check) ?? []
  t.match(readFileSync('examples/server.ts', 'utf8'), `app.get('${path}'`)
})

t.test('its variables are those of the example server', async t => {
  const { NODE_ENV, ...variables } = readVariables(image)
  t.equal(NODE_ENV, 'production')
  const { host, port, storage } = readSettings(variables)
  t.strictSame([host, port], ['0.0.0.0', Number(image.instructions.find(({ word }) => word === 'EXPOSE')?.text)])
  const volume = image.instructions.find(({ word }) => word === 'VOLUME')?.text
  t.ok(storage.startsWith(`sqlite:${volume}/`), storage)
  const known = readFileSync('examples/settings.ts', 'utf8')
  for (const name of Object.keys(variables)) t.match(known, `'${name}'`)
})

t.test('compose.yaml starts it on PostgreSQL', async t => {
  interface Service {
    readonly image?: string
    readonly build?: string
    readonly environment: Record<string, string>
    readonly ports?: string[]
    readonly volumes?: string[]
    readonly healthcheck?: { readonly test: string[] }
    readonly depends_on?: Record<string, { readonly condition: string }>
  }
  // A variable that is not set has its default.
  const text = readFileSync('compose.yaml', 'utf8').replaceAll(/\$\{\w+:-(\w+)\}/g, '$1')
  t.notMatch(text, '$')
  const { services, volumes } = parse(text) as { services: Record<string, Service>, volumes: Record<string, null> }
  t.strictSame(Object.keys(services), ['database', 'app'])
  const { app, database } = services as { app: Service, database: Service }

  t.equal(app.build, '.')
  t.strictSame(app.depends_on, { database: { condition: 'service_healthy' } })
  t.strictSame(app.ports, [`127.0.0.1:3000:${readVariables(image)['PORT']}`])
  const known = readFileSync('examples/settings.ts', 'utf8')
  for (const name of Object.keys(app.environment)) t.match(known, `'${name}'`)
  const url = new URL(readSettings(app.environment).storage)
  const { POSTGRES_USER: user, POSTGRES_PASSWORD: password, POSTGRES_DB: name } = database.environment
  t.equal(url.href, `postgres://${user}:${password}@database:5432/${name}`)

  t.match(database.image, /^postgres:\d+$/)
  t.strictSame(database.healthcheck?.test.slice(-2), [`--username=${user}`, `--dbname=${name}`])
  t.strictSame(database.volumes?.map(volume => volume.split(':')[0]), Object.keys(volumes))
})
