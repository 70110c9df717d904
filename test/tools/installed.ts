import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { unmeasured } from '../unmeasured.js'

export const tools = resolve('tools')

/** A program of the folder tools. */
export const bin = (name: string): string => resolve(tools, 'node_modules/.bin', name)

/** They are large, and their dependencies quarrel with ours: a package of their own, installed when wanted. */
export async function installTools (): Promise<void> {
  if (['spectral', 'jest', 'tsx'].every(name => existsSync(bin(name)))) return
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline']
  await promisify(execFile)(...unmeasured('npm', ['ci', '--prefix', tools, ...options]))
}
