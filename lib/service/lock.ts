// The last of those that wait for each key, by owner.
const queues = new WeakMap<object, Map<string, Promise<unknown>>>()

/**
 * Runs the work for one key of one owner one after another, so that writers of one process do not run into each other.
 * Writers of other processes are told apart by the storage itself. Without a key, nothing waits.
 */
export async function runExclusive<T> (owner: object, key: string | undefined, work: () => Promise<T>): Promise<T> {
  if (key === undefined) return await work()
  let queue = queues.get(owner)
  if (queue === undefined) queues.set(owner, queue = new Map())
  const last = queue.get(key)
  const running = last === undefined ? work() : last.then(work, work)
  queue.set(key, running)
  try {
    return await running
  } finally {
    if (queue.get(key) === running) queue.delete(key)
  }
}
