import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { createInterface } from 'node:readline'

/** A source of customers. */
export interface CustomersSource {
  readonly rows: Iterable<unknown> | AsyncIterable<unknown>
  /** The share that was read, from 0 to 1. */
  share (): number
  /** The name of a row in messages, by its number. */
  nameRow (number: number): string
}

/** Customers that are the same every time. */
export function makeUp (count: number): CustomersSource {
  const rows = Array.from({ length: count }, (_, index) => {
    const id = index + 1
    return { id, age: 18 + id * 37 % 73, children: id * 13 % 5 }
  })
  return fromList('made up', rows)
}

/** A file with a JSON array, or with one JSON object a line, read line by line, of any size. */
export async function openFile (file: string): Promise<CustomersSource> {
  try {
    const { size } = await stat(file)
    if (!await beginsLikeArray(file)) return fromLines(file, size)
    return fromList(basename(file), parse(basename(file), await readFile(file, 'utf8')) as unknown[])
  } catch (error) {
    throw explain(file, error)
  }
}

function explain (file: string, error: unknown): unknown {
  const reasons: Record<string, string> = {
    ENOENT: 'there is no such file',
    EISDIR: 'that is a folder',
    EACCES: 'that file may not be read'
  }
  const reason = reasons[(error as NodeJS.ErrnoException).code ?? '']
  return reason === undefined ? error : new Error(`CUSTOMERS is "${file}", but ${reason}`)
}

function fromList (name: string, list: readonly unknown[]): CustomersSource {
  let read = 0
  return {
    rows: (function * () { for (const row of list) { read++; yield row } })(),
    share: () => read / list.length,
    nameRow: number => `${name}, item ${number}`
  }
}

function fromLines (file: string, size: number): CustomersSource {
  const name = basename(file)
  const empty: number[] = []
  let bytes = 0
  let number = 0
  return {
    rows: read(),
    share: () => Math.min(1, bytes / size),
    nameRow: row => `${name}, line ${empty.reduce((line, each) => each <= line ? line + 1 : line, row)}`
  }

  async function * read (): AsyncGenerator<unknown> {
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      number++
      bytes += Buffer.byteLength(line) + 1
      if (line.trim() === '') empty.push(number)
      else yield parse(`${name}, line ${number}`, line)
    }
  }
}

function parse (place: string, text: string): unknown {
  try {
    // Without the mark that some editors put before the first character.
    return JSON.parse(text.trimStart())
  } catch (error) {
    throw new Error(`${place}: ${(error as Error).message}`)
  }
}

async function beginsLikeArray (file: string): Promise<boolean> {
  for await (const chunk of createReadStream(file, { encoding: 'utf8' })) {
    const text = (chunk as string).trimStart()
    if (text !== '') return text.startsWith('[')
  }
  return false
}
