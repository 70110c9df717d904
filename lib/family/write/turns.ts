// The last of those that wait for each key.
const queues = new WeakMap<object, Map<string, Promise<unknown>>>()

/**
 * Does work on one thing (of one storage) one after another, so that writers of one process do not run into each other.
 * Writers of other processes are told apart by the storage itself.
 */
export async function inTurn<T> (owner: object, key: string | undefined, work: () => Promise<T>): Promise<T> {
  if (key === undefined) return await work()
  let queue = queues.get(owner)
  if (queue === undefined) queues.set(owner, queue = new Map())
  const before = queue.get(key)
  const turn = before === undefined ? work() : before.then(work, work)
  queue.set(key, turn)
  try {
    return await turn
  } finally {
    if (queue.get(key) === turn) queue.delete(key)
  }
}
