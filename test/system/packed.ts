import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { unmeasured } from '../unmeasured.js'

const run = promisify(execFile)
// Since when Node has SQLite of its own without a flag.
const [major, minor] = process.versions.node.split('.').map(Number) as [number, number]
export const hasSqlite = major > 22 || (major === 22 && minor >= 13)
export const hasCurl = await run('curl', ['--version']).then(() => true, () => false)

/** Makes the package as it would be published; its tarball lies in the folder, and `paths` are the files in it. */
export async function packPackage (folder: string): Promise<{ tarball: string, paths: string[] }> {
  const packed = await run(
    ...unmeasured('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder])
  )
  const [{ filename, files }] = JSON.parse(packed.stdout) as [{ filename: string, files: { path: string }[] }]
  return { tarball: join(folder, filename), paths: files.map(({ path }) => path) }
}

/** Runs lines of a page as they stand, but for the package itself, which is not published by then. */
export async function runLines (lines: string, cwd: string, tarball: string): Promise<string> {
  const text = lines
    .replace(/^npm install .*$/gm, line => line.replace(/\bfastify-dealbook\b/, tarball))
    .replace(/^npm install /gm, 'npm install --no-audit --no-fund --prefer-offline ')
  return (await run(...unmeasured('sh', ['-e', '-c', text]), { cwd })).stdout
}
