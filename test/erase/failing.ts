import { type Storage } from '../../lib/index.js'

/** A storage whose n-th commit fails, before or after it took effect. */
export function failAt (storage: Storage, n: number, isAfter: boolean): Storage & { readonly commits: number } {
  const failing = {
    ...storage,
    commits: 0,
    async commit (changes: Parameters<Storage['commit']>[0]) {
      const fails = ++failing.commits === n
      if (!fails) return await storage.commit(changes)
      // One that is refused is killed, too.
      if (isAfter) await storage.commit(changes).catch(() => {})
      throw new Error('killed')
    }
  }
  return failing
}
