// Every server, and the load, is a separate process, bound to its own core if the system supports it.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// PostgreSQL shares the core of the load, unless there is a third: the cost of the servers must not depend on it.
export const cores = { server: 0, load: 1, database: availableParallelism() > 2 ? 2 : 1 }

export const isPinned = availableParallelism() > 1 && canPin()

function canPin () {
  try {
    execFileSync('taskset', ['-c', '0', process.execPath, '--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Starts a file of this folder; resolves with the first message that it sends. */
export async function startProcess (file, args, { core, needsNode = 0 }) {
  const command = [findNode(needsNode), fileURLToPath(new URL(file, import.meta.url)), ...args]
  if (isPinned) command.unshift('taskset', '-c', String(core))
  const child = spawn(command[0], command.slice(1), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // Ctrl-C is handled by the parent, which ends them in order; without a parent they end by themselves.
    detached: true,
    // Node 22 calls its SQLite experimental at every start.
    env: { ...process.env, NODE_NO_WARNINGS: '1' }
  })
  return { child, ready: await answerOf(child) }
}

/** This Node if it is new enough, otherwise the one that is installed with the contenders. */
function findNode (major) {
  if (Number(process.versions.node.split('.')[0]) >= major) return process.execPath
  const names = ['node', 'node-bin'].map(start => `${start}-${process.platform}-${process.arch}`)
  const path = names.map(name => join(import.meta.dirname, 'node_modules', name, 'bin/node')).find(existsSync)
  if (path === undefined) throw new Error(`It needs Node ${major}: run all of the bench with that`)
  return path
}

/** Sends a message and resolves with the answer. */
export async function ask (child, message) {
  const answer = answerOf(child)
  child.send(message)
  return await answer
}

/** Processes that were asked to end; a process that ends otherwise is an error. */
export async function endProcess (child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill()
  await ended
}

function answerOf (child) {
  return new Promise((resolve, reject) => {
    const ended = (code, signal) => { reject(new Error(`${child.spawnargs.join(' ')} ended with ${code ?? signal}`)) }
    child.once('exit', ended)
    child.once('message', answer => {
      child.off('exit', ended)
      resolve(answer)
    })
  })
}
