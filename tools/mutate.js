// Changes the code in small ways, one at a time, and says which changes no fast test notices: npm run mutate -- FILE...
// A file is a path or a pattern below lib, such as lib/core/query/*.ts; FILE:10-20 is a range of its lines.
import { dirname } from 'node:path'
import { Stryker } from '@stryker-mutator/core'

const mutate = process.argv.slice(2)
if (mutate.length === 0) throw new Error('Name the files to change, such as lib/core/query/cursor.ts')

const results = await new Stryker({
  mutate,
  testRunner: 'command',
  commandRunner: { command: 'node build/test/mutation/kill.js' },
  // The link to node_modules is made after this.
  buildCommand: 'node ../../node_modules/typescript-native/bin/tsc',
  // The copy has what the tests read, and is built anew.
  ignorePatterns: ['build', '.tap', 'bench/node_modules', 'tools/node_modules', 'tools/build'],
  // Another text, and a pattern that is written in another way, are seldom a mistake.
  mutator: { excludedMutations: ['StringLiteral', 'Regex'] },
  concurrency: 2,
  dryRunTimeoutMinutes: 30,
  // The command ends by itself.
  timeoutMS: 300_000,
  timeoutFactor: 1,
  reporters: ['progress-append-only'],
  allowConsoleColors: false,
  tempDirName: '.stryker-tmp'
}).runMutationTest()

const folders = new Map()
for (const { fileName, location: { start }, status, mutatorName, replacement } of results) {
  if (status === 'Ignored') continue
  const counts = folders.get(dirname(fileName)) ?? { killed: 0, all: 0 }
  folders.set(dirname(fileName), counts)
  counts.all++
  if (status === 'Killed' || status === 'Timeout') counts.killed++
  else console.log(`${fileName}:${start.line}:${start.column} ${status} ${mutatorName}: ${short(replacement)}`)
}
for (const [folder, { killed, all }] of folders) {
  console.log(`${folder}: ${killed} of ${all} killed, ${(100 * killed / all).toFixed(1)} %`)
}

function short (text = '') {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > 80 ? `${line.slice(0, 79)}…` : line
}
