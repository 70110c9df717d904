// node bench/ticks.js: what process.nextTick costs after a collection of garbage in a process's first second,
// without this package and with it. Needs a build.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const file = fileURLToPath(import.meta.url)
const nothing = () => {}
const turn = () => new Promise(resolve => setImmediate(resolve))

if (process.argv[2] === undefined) {
  for (const what of ['node:fs', '../build/lib/index.js']) {
    const nanoseconds = execFileSync(process.execPath, ['--expose-gc', file, what], { encoding: 'utf8' })
    console.log(`${what}: ${nanoseconds} ns`)
  }
} else {
  await import(process.argv[2])
  for (let n = 0; n < 100; n++) {
    process.nextTick(nothing)
    await turn()
  }
  globalThis.gc()
  let took = 0
  const [turns, calls] = [10_000, 50]
  for (let n = 0; n < 2 * turns; n++) {
    const began = performance.now()
    for (let call = 0; call < calls; call++) process.nextTick(nothing)
    // The first half warms up.
    if (n >= turns) took += performance.now() - began
    await turn()
  }
  process.stdout.write((took * 1e6 / turns / calls).toFixed(0))
}
