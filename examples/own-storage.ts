// Your own storage: everything in memory, and every commit a line of a file that is read at the start.
import type { FileHandle } from 'node:fs/promises'
import { open, readFile } from 'node:fs/promises'
import type { Change, Id, Storage, Stored } from 'fastify-dealbook'
import {
  checkChanges, completer, ConflictError, DuplicateError, hasAtPath, isExpected, KeyRules, pageOf
} from 'fastify-dealbook'

export function journalStorage (file: string): Storage {
  const families = new Map<string, Map<Id, Stored>>()
  // Adds the defaults of fields that older items lack.
  const completers = new Map<string, (item: Stored) => Stored>()
  const rules = new KeyRules()
  // The fields that number the items of a family in the order of their commits.
  const sequences = new Map<string, string>()
  let journal: Promise<FileHandle> | undefined
  let last: Promise<unknown> = Promise.resolve()

  return {
    async prepare (shape) {
      journal ??= replay()
      await journal
      if (!families.has(shape.name)) families.set(shape.name, new Map())
      rules.add(shape, itemsOf(shape.name).values())
      completers.set(shape.name, completer(shape))
      if (shape.sequence !== undefined) sequences.set(shape.name, shape.sequence)
    },

    async find (family, query) {
      return pageOf([...itemsOf(family).values()].map(completerOf(family)), query)
    },

    async get (family, id) {
      const item = itemsOf(family).get(id)
      return item && completerOf(family)(item)
    },

    async commit (changes) {
      checkChanges(changes)
      for (const { family } of changes) itemsOf(family)
      const line = JSON.stringify(changes)
      // One after the other: a change is checked against all earlier ones.
      const written = last.then(() => write(line))
      last = written.catch(() => {})
      await written
    },

    async close () {
      await last
      const opened = await journal
      journal = undefined
      await opened?.close()
    }
  }

  function itemsOf (family: string): Map<Id, Stored> {
    const items = families.get(family)
    if (items === undefined || journal === undefined) throw new Error(`the family "${family}" was not prepared`)
    return items
  }

  function completerOf (family: string): (item: Stored) => Stored {
    return completers.get(family) ?? (item => item)
  }

  async function replay (): Promise<FileHandle> {
    const text = await readFile(file, 'utf8').catch(() => '')
    // Text after the last newline is an unfinished commit.
    const whole = text.slice(0, text.lastIndexOf('\n') + 1)
    for (const line of whole.split('\n').slice(0, -1)) apply(JSON.parse(line) as Change[])
    const opened = await open(file, 'a')
    await opened.truncate(Buffer.byteLength(whole))
    return opened
  }

  async function write (line: string): Promise<void> {
    const changes = JSON.parse(line) as Change[]
    checkRevisions(changes)
    rules.check(changes, { get: (family, id) => itemsOf(family).get(id), findEqual })
    const numbered = changes.reduce<Change[]>((done, change) => [...done, number(change, done)], [])
    const opened = await journal
    await opened?.appendFile(JSON.stringify(numbered) + '\n')
    await opened?.datasync()
    apply(numbered)
  }

  /** Commits come one after the other, so the next number is one more than the last. */
  function number (change: Change, before: readonly Change[]): Change {
    const field = sequences.get(change.family)
    if (change.type !== 'insert' || field === undefined || change.item[field] !== undefined) return change
    const others = before.flatMap(other => other.family === change.family && 'item' in other ? [other.item] : [])
    const numbers = [...itemsOf(change.family).values(), ...others].map(item => item[field] as number | undefined ?? 0)
    const last = numbers.reduce((one, other) => Math.max(one, other), 0)
    return { ...change, item: { ...change.item, [field]: last + 1 } }
  }

  function checkRevisions (changes: readonly Change[]): void {
    for (const change of changes) {
      const id = 'item' in change ? change.item.id : change.id
      const item = itemsOf(change.family).get(id)
      if (change.type === 'insert') {
        if (item !== undefined) throw new DuplicateError(change.family, id)
      } else if (!isExpected(item, change)) throw new ConflictError(change.family, id)
    }
  }

  function findEqual (family: string, values: Readonly<Record<string, unknown>>): Stored[] {
    const items = [...itemsOf(family).values()].map(completerOf(family))
    return items.filter(item => Object.entries(values).every(([field, value]) => hasAtPath(item, field, value)))
  }

  function apply (changes: readonly Change[]): void {
    for (const change of changes) {
      let items = families.get(change.family)
      if (items === undefined) families.set(change.family, items = new Map())
      if (change.type === 'delete') items.delete(change.id)
      // A required item stays unchanged.
      else if ('item' in change) items.set(change.item.id, freeze(change.item))
    }
  }
}

// Items are returned without a copy, so callers must not change them.
function freeze<T> (value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(freeze)
  return value
}
