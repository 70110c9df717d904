import type { Storage } from '../lib/index.js'
import { memoryStorage } from '../lib/index.js'

/** A storage that writes into a list what it is asked, before it answers. */
export function recordingStorage (events: string[], storage: Storage = memoryStorage()): Storage {
  return {
    prepare: shape => storage.prepare(shape),
    find (family, query) {
      events.push(`find ${family}`)
      return storage.find(family, query)
    },
    get (family, id) {
      events.push(`get ${family}`)
      return storage.get(family, id)
    },
    commit (changes) {
      events.push('commit')
      return storage.commit(changes)
    },
    close: () => storage.close()
  }
}
