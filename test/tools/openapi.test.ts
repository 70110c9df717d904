import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { buildHost } from '../openapi/host.js'
import { unmeasured } from '../unmeasured.js'
import { bin, installTools, tools } from './installed.js'

const run = promisify(execFile)
const document = resolve('build/openapi.json')

interface Outcome { readonly code: number | undefined, readonly stdout: string, readonly stderr: string }

async function outcomeOf (name: string, ...parameters: string[]): Promise<Outcome> {
  const options = {
    cwd: tools,
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  }
  return await run(...unmeasured(bin(name), parameters), options)
    .then(done => ({ code: 0, ...done }), (error: Outcome) => error)
}

await installTools()

const app = await buildHost()
t.teardown(() => app.close())
writeFileSync(document, JSON.stringify(app.swagger()))

t.test('spectral finds nothing', async t => {
  const { code, stdout } = await outcomeOf(
    'spectral',
    'lint',
    document,
    '--ruleset',
    'spectral.json',
    '--format',
    'json',
    '--fail-severity',
    'hint'
  )
  t.equal(code, 0)
  t.match(stdout, 'No results with a severity of')
})

t.test('redocly finds nothing', async t => {
  const { code, stdout, stderr } = await outcomeOf(
    'redocly',
    'lint',
    document,
    '--extends',
    'recommended',
    // All problems are one response, `default`.
    '--skip-rule',
    'operation-4xx-response',
    '--format',
    'json'
  )
  t.equal(code, 0, stderr)
  t.match(JSON.parse(stdout), { totals: { errors: 0, warnings: 0, ignored: 0 }, problems: { length: 0 } })
})

t.test('a generated client compiles, and drives the server', async t => {
  // What has a default need not be sent.
  const generated = await outcomeOf('openapi-typescript', document, '-o', 'schema.d.ts', '--default-non-nullable=false')
  t.equal(generated.code, 0, generated.stderr)
  const compiled = await outcomeOf('tsc')
  t.equal(compiled.stdout, '')
  t.equal(compiled.code, 0)
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const { stdout } = await run(...unmeasured(process.execPath, ['build/client.js', url]), { cwd: tools })
  t.strictSame(JSON.parse(stdout), [
    201, true, true,
    true, 'Papers',
    409, 'The operation is not allowed in this state',
    201, 200, 'true', 3,
    ['north'], 1, true,
    true, '2026-03-31',
    'Green tea',
    6, '/crm/customers',
    true, 'Ann', true,
    400, '/reason',
    204,
    404
  ])
})
