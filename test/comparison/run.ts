// Two builds, the same random requests: npm run compare -- OLD [--seeds 1-100] [--length 200] [--storage memory]
import { type ChildProcess, execFileSync, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startServer } from '../postgres/server.js'
import { compare, explain, type Side } from './compare.js'
import { allow } from './meant.js'
import type { Got, Sent } from './requests.js'

const { values, positionals: [old] } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: 'string', default: '1-100' },
    length: { type: 'string', default: '200' },
    storage: { type: 'string', multiple: true, default: ['memory', 'sqlite', 'postgres'] },
    all: { type: 'boolean', default: false }
  }
})
if (old === undefined) throw new Error('Name the revision, or the folder of a checkout, to compare with')

/** A folder with a build of the revision. */
function prepare (revision: string, work: string): string {
  if (existsSync(join(revision, 'package.json'))) return resolve(revision)
  const folder = join(work, 'old')
  execFileSync('git', ['worktree', 'add', '--detach', folder, revision], { stdio: 'ignore' })
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: folder, stdio: 'inherit' })
  return folder
}

function isOlder (folder: string, commit: string): boolean {
  return spawnSync('git', ['merge-base', '--is-ancestor', commit, 'HEAD'], { cwd: folder }).status !== 0
}

class Process implements Side {
  readonly #child: ChildProcess

  constructor (readonly name: string, folder: string, storage: string) {
    this.#child = fork(join(import.meta.dirname, 'side.js'), [folder, storage])
  }

  async #ask (message: object | undefined): Promise<Got[]> {
    if (message !== undefined) this.#child.send(message)
    const [answer] = await once(this.#child, 'message') as [Got[]]
    return answer
  }

  async start (place: string | undefined): Promise<void> {
    const [answer] = await this.#ask(place === undefined ? undefined : { start: place })
    if (answer?.status !== 200) throw new Error(`${this.name}: ${answer?.body}`)
  }

  async send (sent: readonly Sent[]): Promise<Got[]> {
    return await this.#ask({ sent })
  }

  end (): void {
    this.#child.disconnect()
  }
}

const work = mkdtempSync(join(tmpdir(), 'compare-'))
const [first = 1, last = first] = values.seeds.split('-').map(Number)
const server = values.storage.includes('postgres') ? await startServer() : undefined
let unmeant = 0
try {
  const folder = prepare(old, work)
  const allowances = allow(since => isOlder(folder, since))
  for (const storage of values.storage) {
    const sides = [new Process('old', folder, storage), new Process('new', process.cwd(), storage)]
    await Promise.all(sides.map(side => side.start(undefined)))
    let requests = 0
    const meant = new Map<string, number>()
    let differing = 0
    for (let seed = first; seed <= last; seed++) {
      await Promise.all(sides.map(side => side.start(server?.url ?? 'none')))
      const compared = await compare(seed, Number(values.length), sides, allowances)
      requests += compared.requests
      for (const [reason, count] of compared.meant) meant.set(reason, (meant.get(reason) ?? 0) + count)
      if ((seed - first + 1) % 50 === 0) console.log(`${storage}: ${requests} requests, up to seed ${seed}`)
      if (compared.difference === undefined) continue
      differing++
      console.log(explain(compared.difference))
      if (!values.all && differing >= 10) break
    }
    for (const side of sides) side.end()
    unmeant += differing
    console.log(`${storage}: ${requests} requests, ${differing} histories differ`)
    for (const [reason, count] of meant) console.log(`  meant, ${count} times: ${reason}`)
  }
} finally {
  await server?.stop()
  if (existsSync(join(work, 'old'))) execFileSync('git', ['worktree', 'remove', '--force', join(work, 'old')])
  rmSync(work, { recursive: true, force: true })
}
process.exitCode = unmeant === 0 ? 0 : 1
