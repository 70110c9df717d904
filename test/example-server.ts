import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { unmeasured } from './unmeasured.js'

interface Test {
  teardown (fn: () => unknown): void
}

export interface Running {
  readonly url: string
  readonly output: () => string
  stop (signal?: NodeJS.Signals): void
  readonly ended: Promise<number | null>
}

/** An example that serves, and how it says where. */
interface Example {
  /** As it is built. */
  readonly file: string
  readonly said: RegExp
}

const server: Example = { file: 'build/examples/server.js', said: /documentation +(http:\/\/\S+)\/documentation/ }

/** The example server as `npm start` runs it, at a free port; where it does not come up, its exit code and output. */
export async function startExample (
  t: Test,
  env: Record<string, string> = {},
  { file, said }: Example = server
): Promise<Running> {
  const child = spawn(...unmeasured(process.execPath, [file]), {
    env: { ...process.env, PORT: '0', STORAGE: 'memory:', ...env }
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  const ready = new Promise<string>(resolve => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
        const found = said.exec(output)
        if (found !== null) resolve(found[1] as string)
      })
    }
  })
  const url = await Promise.race([ready, ended.then(code => { throw new Error(`it ended with ${code}: ${output}`) })])
  return { url, output: () => output, stop: signal => { child.kill(signal) }, ended }
}
