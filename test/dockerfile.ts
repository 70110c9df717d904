import { readFileSync } from 'node:fs'

export interface Instruction {
  /** Such as `RUN`. */
  readonly word: string
  readonly flags: Readonly<Record<string, string>>
  /** What follows the word and its flags. */
  readonly text: string
}

export interface Stage {
  readonly image: string
  readonly name: string | undefined
  readonly instructions: readonly Instruction[]
}

/** The stages of the Dockerfile. It has no heredocs, and no flags that take a space. */
export function readDockerfile (): Stage[] {
  const lines = readFileSync('Dockerfile', 'utf8').replace(/^#.*\n/gm, '').replace(/\\\n */g, '').split('\n')
  const instructions = lines.filter(line => line !== '').map((line): Instruction => {
    const [, word = '', flags = '', text = ''] = /^([A-Z]+) +((?:--[\w-]+=\S+ +)*)(.*)$/.exec(line) ?? []
    const given = [...flags.matchAll(/--([\w-]+)=(\S+)/g)].map(([, name, value]) => [name, value] as const)
    return { word, flags: Object.fromEntries(given) as Record<string, string>, text }
  })
  const starts = instructions.flatMap(({ word }, index) => word === 'FROM' ? [index] : [])
  return starts.map((start, index) => {
    const [image = '', , name] = instructions[start]?.text.split(' ') ?? []
    return { image, name, instructions: instructions.slice(start + 1, starts[index + 1]) }
  })
}

/** What an `ENV` sets. */
export function readVariables (stage: Stage): Record<string, string> {
  const pairs = stage.instructions.filter(({ word }) => word === 'ENV').flatMap(({ text }) => text.split(' '))
  return Object.fromEntries(pairs.map(pair => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]))
}

/** The program and its arguments, which do not go through a shell. */
export function readCommand (stage: Stage, word: 'CMD' | 'HEALTHCHECK'): string[] {
  const text = stage.instructions.find(instruction => instruction.word === word)?.text ?? ''
  return JSON.parse(text.replace(/^CMD /, '')) as string[]
}
