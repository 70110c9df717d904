// `npm test` and `npm run test:fast`: runs the parts, and shows what fails. The runner of tap does the same, but reads
// every line with a parser and has Node load everything through its hooks, which takes a sixth of the processor.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const isFast = process.argv.includes('--fast')
const root = import.meta.dirname
const logs = join('.tap', 'run')
const counts = { total: 0, pass: 0, fail: 0, skip: 0 }
/** Tests of which any part failed, also what cannot be counted, such as a process that ended early. */
let failed = 0
/** Files of tests that ran to their end. */
const ended = new Set<string>()
const running = new Set<ChildProcess>()

async function run (): Promise<boolean> {
  mkdirSync(logs, { recursive: true })
  if (!isFast) await runScript('postgres/before.js')
  try {
    const parts = isFast ? [1, 2, 3] : [1, 2, 3, 4]
    const areWhole = await Promise.all(parts.map(runPart))
    if (isFast) process.env['TEST_FAST'] = 'true'
    const { listFiles } = await import('./list-files.js')
    const missing = listFiles().filter(file => !ended.has(file))
    for (const file of missing) console.log(`# ${file} has not run to its end`)
    if (failed + missing.length > 0) counts.fail = Math.max(counts.fail, 1)
    console.log(`# ${JSON.stringify(counts).replaceAll('"', '').replace(/[:,{]/g, '$& ').replace('}', ' }')}`)
    return areWhole.every(Boolean) && counts.fail === 0 && counts.pass > 0
  } finally {
    if (!isFast) await runScript('postgres/after.js')
  }
}

async function runScript (script: string): Promise<void> {
  const code = await waitFor(spawn(process.execPath, [join(root, script)], { stdio: 'inherit' }))
  if (code !== 0) throw new Error(`${script} ended with ${code}`)
}

/** Whether it ended as it should. All that it wrote is in a file. */
async function runPart (number: number): Promise<boolean> {
  const noDomains = new URL('no-domains.js', import.meta.url).href
  // The threads of the collector would take the processor from other parts, and a small heap a tenth of the time.
  const heap = ['--min-semi-space-size=64', '--max-semi-space-size=64', '--initial-heap-size=600']
  const flags = [...heap, '--single-threaded-gc', '--import', noDomains]
  const part = spawn(process.execPath, [...flags, join(root, 'parts', '1.js')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TAP: '1', TAP_TIMEOUT: '7200', ...isFast && { TEST_FAST: 'true' } }
  })
  running.add(part)
  const code = waitFor(part)
  const log = createWriteStream(join(logs, `${number}.tap`))
  let test: string[] = []
  let isShown = false
  for await (const line of createInterface(part.stdout as NonNullable<ChildProcess['stdout']>)) {
    log.write(`${line}\n`)
    test.push(line)
    if (line.startsWith('#')) isShown = false
    if (isResult(line)) {
      count(line)
      if (line.startsWith(' ')) continue
      if (line.startsWith('ok')) showEnd(test)
      isShown = line.startsWith('not') && !isExcused(line)
      if (isShown) failed++
    } else if (!isShown) continue
    // Of a test that failed, then what is said of it below.
    if (isShown) console.log(test.filter(each => !/^ *ok /.test(each)).join('\n'))
    test = []
  }
  log.end()
  running.delete(part)
  if (await code === 0) return true
  console.log(`# part ${number} ended with ${await code}; see ${join(logs, `${number}.tap`)}`)
  return false
}

function isResult (line: string): boolean {
  return /^ *(?:not )?ok \d/.test(line)
}

function isExcused (line: string): boolean {
  return / # (?:SKIP|TODO)/.test(line)
}

/** As tap does, only what has no tests within. */
function count (line: string): void {
  if (/ # time=[\d.]+ms$/.test(line)) return
  counts.total++
  if (isExcused(line)) counts.skip++
  else if (line.trimStart().startsWith('not')) counts.fail++
  else counts.pass++
}

/** Of a file of tests, which `part.ts` ends with a test of its own. */
function showEnd (test: readonly string[]): void {
  const [, file] = /^ok \d+ - (\S+\.test\.js) has ended/.exec(test.at(-1) as string) ?? []
  const cpu = test.find(line => line.includes('s of CPU'))?.trim()
  if (file === undefined) return
  ended.add(file)
  console.log(`${file} ${cpu}`)
}

async function waitFor (child: ChildProcess): Promise<number | string> {
  const [code, signal] = await once(child, 'exit') as [number | null, string | null]
  return code ?? signal ?? 1
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    // Some may be in a loop without an end. PostgreSQL ends when it finds itself alone.
    for (const part of running) part.kill('SIGKILL')
    process.exit(1)
  })
}
process.exitCode = await run() ? 0 : 1
