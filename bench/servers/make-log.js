// Deals with long logs, made in batches: hundreds of thousands of requests would take a while.

/** The n-th id in the form of ours (UUIDv7), which grow with time. */
export function idOf (n, kind = 0) {
  const time = (0x0197_0000_0000 + n).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${String(kind).padStart(12, '0')}`
}

/**
 * Gives each of these deals a log of so many entries. The first is to be read, its first page and one in the middle;
 * the others are to be changed, and are so many that none of their logs grows much.
 */
export async function makeLogs (app, storage, { entries, ids: [id, ...ids] }) {
  for (const each of [id, ...ids]) await makeLog(app, storage, { entries, id: each })
  // PostgreSQL numbers the entries when they are first read by their position.
  const order = [{ field: 'position', descending: true }]
  await storage.find('commands', { where: [{ field: 'position', op: 'gt', value: 0 }], order, offset: 0, limit: 1 })
  const log = `/rest/v1/deals/${id}/commands`
  const [first, middle] = [`${log}?maxpagesize=5`, await findMiddle(app, log, entries)]
  for (const [path, revision] of [[first, 2], [middle, 2 + entries / 2]]) {
    const revisions = (await app.inject(path)).json().items.map(item => item.revision)
    const expected = [0, 1, 2, 3, 4].map(n => revision + n)
    if (String(revisions) !== String(expected)) throw new Error(`${path} has ${revisions}, not ${expected}`)
  }
  return { entries, ids, first, middle }
}

let made = 0

async function makeLog (app, storage, { entries, id }) {
  // One real entry, then copies of it.
  const payload = { newPrice: 2, reason: 'bench' }
  await app.inject({ method: 'PUT', url: `/rest/v1/deals/${id}/change-price`, payload })
  const { items: [entry] } = await storage.find('commands', {
    where: [{ field: 'target', op: 'eq', values: [id] }],
    order: [{ field: 'id', descending: false }],
    offset: 0,
    limit: 1,
    count: false
  })
  const deal = await storage.get('deals', id)
  for (let done = 1; done < entries;) {
    const batch = []
    for (; batch.length < 1000 && done < entries; done++) {
      const copy = { ...entry, id: idOf(++made, 1), revision: entry.revision + done }
      batch.push({ type: 'insert', family: 'commands', item: copy })
    }
    await storage.commit(batch)
  }
  const after = { ...deal, revision: entry.revision + entries - 1 }
  await storage.commit([{ type: 'replace', family: 'deals', item: after, expected: deal.revision, current: deal }])
}

// By the cursors that pages lead to; the steps are long, and the page is short, so that it is as long in every log.
async function findMiddle (app, log, entries) {
  const step = Math.min(1000, entries / 2)
  let path = `${log}?maxpagesize=${step}`
  for (let passed = 0; passed < entries / 2; passed += step) {
    const answer = await app.inject(path)
    const { items, links } = answer.json()
    if (items.length !== step) throw new Error(`${path} has ${items.length} entries`)
    path = links.next
  }
  return path.replace(`maxpagesize=${step}`, 'maxpagesize=5')
}
