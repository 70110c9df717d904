import { execFile } from 'node:child_process'
import { access, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { isAlive } from '../is-alive.js'
import { unmeasured } from '../unmeasured.js'

const run = promisify(execFile)
// Since when Node has SQLite of its own without a flag.
const [major, minor] = process.versions.node.split('.').map(Number) as [number, number]
export const hasSqlite = major > 22 || (major === 22 && minor >= 13)
export const hasCurl = await run('curl', ['--version']).then(() => true, () => false)

interface Packed { readonly tarball: string, readonly paths: string[] }

/** Makes a package as it would be published; its tarball lies in the folder, and `paths` are the files in it. */
export async function packPackage (folder: string, source = '.'): Promise<Packed> {
  const packed = await run(
    ...unmeasured('npm', ['pack', source, '--json', '--ignore-scripts', '--pack-destination', folder])
  )
  const [{ filename, files }] = JSON.parse(packed.stdout) as [{ filename: string, files: { path: string }[] }]
  return { tarball: join(folder, filename), paths: files.map(({ path }) => path) }
}

/**
 * Our own package, which takes npm seconds to make: the first file of tests of a run that asks for it makes it, and
 * those in other processes wait until it is there.
 */
export async function packOurs (): Promise<Packed> {
  const folder = resolve('.tap', `packed-${await nameRun()}`)
  await mkdir(folder, { recursive: true })
  for (const name of (await readdir('.tap')).filter(name => name.startsWith('packed-'))) {
    if (!isAlive(Number(name.split('-')[1]))) await rm(join('.tap', name), { recursive: true, force: true })
  }
  const [maker, result] = [join(folder, 'maker'), join(folder, 'packed.json')]
  if (await writeFile(maker, '', { flag: 'wx' }).then(() => true, () => false)) {
    try {
      await writeFile(`${result}.new`, JSON.stringify(await packPackage(folder)))
      await rename(`${result}.new`, result)
    } catch (error) {
      await rm(maker)
      throw error
    }
  }
  while (!await access(result).then(() => true, () => false)) {
    await access(maker)
    await delay(50)
  }
  return JSON.parse(await readFile(result, 'utf8')) as Packed
}

/** The process id of the run, and when it began where that is known: in a container, ids come again. */
async function nameRun (): Promise<string> {
  const runner = process.env['TAP'] === '1' ? process.ppid : process.pid
  const status = await readFile(`/proc/${runner}/stat`, 'utf8').catch(() => '')
  return `${runner}-${status.split(') ').at(-1)?.split(' ')[19] ?? ''}`
}

/** Runs lines as a shell does, and answers what they print. */
export async function runLines (lines: string, cwd: string): Promise<string> {
  return (await run(...unmeasured('sh', ['-e', '-c', lines]), { cwd })).stdout
}

/** Makes a package of a host with our package in it, unpacked, and links to these others and to what ours needs. */
export async function makeHost (host: string, tarball: string, others: readonly string[]): Promise<void> {
  await unpackPackage(host, tarball)
  for (const name of others) await linkPackage(host, name)
  await writeFile(join(host, 'package.json'), '{ "name": "host", "private": true }')
}

/** As if our package and what it needs were installed in the host. */
export async function unpackPackage (host: string, tarball: string): Promise<void> {
  const folder = join(host, 'node_modules/fastify-dealbook')
  await mkdir(folder, { recursive: true })
  await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', folder])
  const { dependencies } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { dependencies: object }
  for (const name of Object.keys(dependencies)) await linkPackage(host, name)
}

/** As if it were installed in the host. */
export async function linkPackage (host: string, name: string): Promise<void> {
  const link = join(host, 'node_modules', name)
  await mkdir(dirname(link), { recursive: true })
  // The one that compiles several times faster.
  await symlink(resolve('node_modules', name === 'typescript' ? 'typescript-native' : name), link, 'junction')
}

/** Runs a program in a host, and answers what it says, even if it fails. */
export async function runIn (host: string, program: string, parameters: readonly string[]): Promise<Said> {
  return await run(...unmeasured(program, parameters), { cwd: host }).catch((error: Said) => error)
}

interface Said { readonly stdout: string, readonly stderr: string }

/** What the compiler says to files in a host. */
export async function flawsOf (
  host: string, files: readonly string[], module: string, typescript = 'node_modules/typescript-native'
): Promise<string> {
  const options = `--noEmit --strict --target es2023 --module ${module} --types node`.split(' ')
  const compiler = resolve(typescript, 'bin/tsc')
  const { stdout, stderr } = await runIn(host, process.execPath, [compiler, ...options, ...files])
  return stdout + stderr
}
