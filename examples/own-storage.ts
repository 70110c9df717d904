// A storage of one's own: everything in memory, every commit a line of a file that is read again at the start.
import type { FileHandle } from 'node:fs/promises'
import { open, readFile } from 'node:fs/promises'
import type { Change, Id, Storage, Stored } from 'fastify-dealbook'
import { checkChanges, completer, ConflictError, DuplicateError, KeyRules, pageOf } from 'fastify-dealbook'

export function journalStorage (file: string): Storage {
  const families = new Map<string, Map<Id, Stored>>()
  // What items from before a field have in it.
  const completers = new Map<string, (item: Stored) => Stored>()
  const rules = new KeyRules()
  let journal: Promise<FileHandle> | undefined
  let last: Promise<unknown> = Promise.resolve()

  return {
    async prepare (shape) {
      journal ??= replay()
      await journal
      if (!families.has(shape.name)) families.set(shape.name, new Map())
      rules.add(shape, itemsOf(shape.name).values())
      completers.set(shape.name, completer(shape))
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
      // One after the other: a change is checked against all that were written before it.
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
    // What comes after the last newline was never finished, and so never answered.
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
    const opened = await journal
    await opened?.appendFile(line + '\n')
    await opened?.datasync()
    apply(changes)
  }

  function checkRevisions (changes: readonly Change[]): void {
    for (const change of changes) {
      const id = 'item' in change ? change.item.id : change.id
      const revision = itemsOf(change.family).get(id)?.revision
      if (change.type === 'insert' && revision !== undefined) throw new DuplicateError(change.family, id)
      if (change.type !== 'insert' && revision !== change.expected) throw new ConflictError(change.family, id)
    }
  }

  function findEqual (family: string, values: Readonly<Record<string, unknown>>): Stored[] {
    const items = [...itemsOf(family).values()].map(completerOf(family))
    return items.filter(item => Object.entries(values).every(([field, value]) => item[field] === value))
  }

  function apply (changes: readonly Change[]): void {
    for (const change of changes) {
      let items = families.get(change.family)
      if (items === undefined) families.set(change.family, items = new Map())
      if (change.type === 'delete') items.delete(change.id)
      // What is only required stays as it is.
      else if ('item' in change) items.set(change.item.id, freeze(change.item))
    }
  }
}

// Items are returned as they are stored, so callers must not change them.
function freeze<T> (value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(freeze)
  return value
}
