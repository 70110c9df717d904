import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium } from 'playwright-core'

// The one without windows of its own takes half the time of the others.
const names = [
  'chromium-headless-shell', 'chrome-headless-shell', 'chromium', 'chromium-browser', 'google-chrome',
  'google-chrome-stable'
]

/** Where a Chromium is: CHROME_PATH, then PATH, then where playwright installs one; undefined where there is none. */
export function findChromium (): string | undefined {
  const { CHROME_PATH, PATH = '' } = process.env
  if (CHROME_PATH !== undefined && CHROME_PATH !== '') return CHROME_PATH
  const places = names.flatMap(name => PATH.split(delimiter).map(folder => join(folder, name)))
  return places.find(isExecutable) ?? [chromium.executablePath()].find(existsSync)
}

/** Installs one where none is found; it is the last resort, since it takes long and needs the network. */
export function installChromium (): string | undefined {
  const attempts: readonly (readonly [string, ...string[]])[] = [
    ['npx', 'playwright-core', 'install', 'chromium'],
    ...(process.getuid?.() === 0 && existsSync('/etc/debian_version')
      ? [['apt-get', 'install', '-y', 'chromium'] as const]
      : [])
  ]
  for (const [command, ...args] of attempts) {
    const found = findChromium()
    if (found !== undefined) return found
    try {
      execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'], timeout: 300_000 })
    } catch {
      // The next attempt, or none, decides.
    }
  }
  return findChromium()
}

function isExecutable (path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

if (import.meta.filename === process.argv[1]) {
  console.log(installChromium() ?? 'There is no Chromium, and none could be installed')
}
