import { memoryStorage } from '../lib/storage/memory.js'
import type { Storage } from '../lib/storage/storage.js'

/** An empty storage that shares nothing with any other. */
export interface Made {
  readonly storage: Storage
  dispose (): Promise<void>
}

/** Every storage of the package, so that whole-app tests run over each. */
export const storages: readonly { readonly name: string, make (): Promise<Made> }[] = [
  {
    name: 'memory',
    async make () {
      const storage = memoryStorage()
      return { storage, dispose: () => storage.close() }
    }
  }
]
