import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const running = new Set()

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => {
    for (const child of running) child.kill('SIGKILL')
    process.exit(1)
  })
}

/**
 * Runs the bundle in a process of its own, and calls `hear` with each answer. The process is ended if it says nothing
 * for this time.
 *
 * @returns whether it had to be ended
 */
export function runBundle (bundle, order, timeout, hear) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--max-semi-space-size=64', bundle], {
      stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
      env: { ...process.env, TEST_FAST: 'true', TAP_TIMEOUT: '7200', TAP_BAIL: order.mutant === undefined ? '0' : '1' }
    })
    running.add(child)
    // One that ends at once does not read all of it.
    child.stdin.on('error', () => {}).end(JSON.stringify(order))
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      child.kill('SIGKILL')
    }, timeout)
    createInterface(child.stdio[3]).on('line', line => {
      timer.refresh()
      hear(JSON.parse(line))
    })
    child.on('error', reject)
    child.on('close', () => {
      running.delete(child)
      clearTimeout(timer)
      resolve(isLate)
    })
  })
}

/** Calls `run` for each, some of them at the same time. */
export async function forEach (list, jobs, run) {
  const rest = [...list]
  await Promise.all(Array.from({ length: jobs }, async () => {
    while (rest.length > 0) await run(rest.shift())
  }))
}
