import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Storage } from 'fastify-dealbook'
import { customers, DuplicateError, loadItems } from 'fastify-dealbook'

/** Fills an empty collection: from the file where one is named, else with a thousand customers, the same every time. */
export async function loadFirstCustomers (storage: Storage, file: string | undefined): Promise<void> {
  if (await hasCustomers(storage)) return
  const source = file === undefined ? madeUp(1000) : fromFile(file)
  let loaded = 0
  try {
    await loadItems(storage, customers, source, { onProgress: count => showProgress(loaded = count) })
  } catch (error) {
    // Where none of ours is there and yet some are, another server that was started at the same time is at it already.
    if (!(error instanceof DuplicateError) || loaded > 0 || !await hasCustomers(storage)) throw error
  }
  if (process.stdout.isTTY) process.stdout.write('\n')
  else console.log(`${loaded} customers loaded`)
}

async function hasCustomers (storage: Storage): Promise<boolean> {
  const query = { where: [], order: [{ field: 'id', descending: false }], offset: 0, limit: 1, count: false }
  return (await storage.find('customers', query)).items.length > 0
}

// A line that rewrites itself is for people; a log would keep every state of it.
function showProgress (loaded: number): void {
  if (process.stdout.isTTY) process.stdout.write(`\r${loaded} customers loaded`)
}

function * madeUp (count: number): Generator<object> {
  for (let id = 1; id <= count; id++) yield { id, age: 18 + id * 37 % 73, children: id * 13 % 5 }
}

async function * fromFile (file: string): AsyncGenerator<unknown> {
  if (await beginsLikeArray(file)) {
    yield * JSON.parse(await readFile(file, 'utf8')) as unknown[]
    return
  }
  let number = 0
  // A line at a time, so that the file may be larger than the memory.
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    number++
    if (line.trim() !== '') yield readLine(file, number, line)
  }
}

function readLine (file: string, number: number, line: string): unknown {
  try {
    return JSON.parse(line)
  } catch (error) {
    throw new Error(`${file}, line ${number}: ${(error as Error).message}`)
  }
}

async function beginsLikeArray (file: string): Promise<boolean> {
  for await (const chunk of createReadStream(file, { encoding: 'utf8' })) {
    const text = (chunk as string).trimStart()
    if (text !== '') return text.startsWith('[')
  }
  return false
}
