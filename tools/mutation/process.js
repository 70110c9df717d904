import { spawn } from 'node:child_process'

/** Runs the bundle in a process of its own; the answer is undefined if it had to be ended. */
export function runBundle (bundle, order, timeout) {
  return new Promise((resolve, reject) => {
    const started = performance.now()
    const child = spawn(process.execPath, ['--max-semi-space-size=64', bundle, JSON.stringify(order)], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
      env: { ...process.env, TEST_FAST: 'true', TAP_TIMEOUT: '7200', TAP_BAIL: order.mutant === undefined ? '0' : '1' }
    })
    let text = ''
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      child.kill('SIGKILL')
    }, timeout)
    child.stdio[3].setEncoding('utf8').on('data', part => { text += part })
    child.on('error', reject)
    child.on('close', () => {
      clearTimeout(timer)
      // The word is the last thing that a process says: one that was killed, or has ended in some other way, says none.
      const answer = isLate ? undefined : text === '' ? {} : JSON.parse(text)
      resolve({ answer, time: performance.now() - started })
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
