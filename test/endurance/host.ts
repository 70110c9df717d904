import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unmeasured } from '../unmeasured.js'

/** How a host is after what it has been through. */
export interface HostState {
  /** Open connections. */
  readonly handles: number
  readonly heapUsed: number
  readonly rss: number
}

/** A host in a process of its own, with little memory, so that what grows is seen. */
export interface Host {
  readonly url: string
  /** What it wrote to its standard error. */
  complaints (): string
  /** Its exit code, or undefined while it runs. */
  exitCode (): number | null | undefined
  readState (): Promise<HostState>
}

interface Test {
  teardown (fn: () => unknown): void
}

export async function startHost (t: Test, { rows = 20_000, notes = 0, megabytes = 256 } = {}): Promise<Host> {
  const folder = mkdtempSync(join(tmpdir(), 'dealbook-host-'))
  const server = join(import.meta.dirname, 'server.js')
  const args = [`--max-old-space-size=${megabytes}`, server, join(folder, 'host.db'), String(rows), String(notes)]
  const child = spawn(...unmeasured(process.execPath, args))
  let complaints = ''
  let exitCode: number | null | undefined
  child.stderr.setEncoding('utf8').on('data', (text: string) => { complaints += text })
  child.once('exit', code => { exitCode = code })
  t.teardown(async () => {
    if (exitCode === undefined) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    rmSync(folder, { recursive: true, force: true })
  })
  const [line] = await Promise.race([
    once(child.stdout.setEncoding('utf8'), 'data') as Promise<[string]>,
    once(child, 'exit').then(() => { throw new Error(`the host ended: ${complaints}`) })
  ])
  const url = line.trim()
  return {
    url,
    complaints: () => complaints,
    exitCode: () => exitCode,
    async readState () {
      // A connection of its own, which counts as one of the handles.
      const answer = await fetch(`${url}/-/state`, { headers: { connection: 'close' } })
      return await answer.json() as HostState
    }
  }
}
