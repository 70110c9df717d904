// A deal with a long log, made in batches: a hundred thousand requests would take a while.

/** The n-th of the ids that we would make ourselves (UUIDv7), which grow with time. */
export function idOf (n, kind = 0) {
  const time = (0x0197_0000_0000 + n).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${String(kind).padStart(12, '0')}`
}

/** Where to read it: the first page, and one in the middle, by the cursor that the pages lead to. */
export async function makeLog (app, storage, { entries, id }) {
  const item = `/rest/v1/deals/${id}`
  // One real entry, then copies of it.
  await app.inject({ method: 'PUT', url: `${item}/change-price`, payload: { newPrice: 2, reason: 'bench' } })
  const { items: [entry] } = await storage.find('commands', {
    where: [{ field: 'target', op: 'eq', values: [id] }],
    order: [{ field: 'id', descending: false }],
    offset: 0,
    limit: 1,
    count: false
  })
  for (let done = 1; done < entries;) {
    const batch = []
    for (; batch.length < 1000 && done < entries; done++) {
      const copy = { ...entry, id: idOf(done, entries), revision: entry.revision + done }
      batch.push({ type: 'insert', family: 'commands', item: copy })
    }
    await storage.commit(batch)
  }
  const deal = await storage.get('deals', id)
  const after = { ...deal, revision: entry.revision + entries - 1 }
  await storage.commit([{ type: 'replace', family: 'deals', item: after, expected: deal.revision, current: deal }])
  return { entries, id, first: `${item}/commands?maxpagesize=5`, middle: await findMiddle(app, item, entries) }
}

// The steps are long and the page is short, so that it has as many entries in every log.
async function findMiddle (app, item, entries) {
  const step = Math.min(1000, entries / 2)
  let path = `${item}/commands?maxpagesize=${step}`
  for (let passed = 0; passed < entries / 2; passed += step) {
    const answer = await app.inject(path)
    const { items, links } = answer.json()
    if (items.length !== step) throw new Error(`${path} has ${items.length} entries`)
    path = links.next
  }
  return path.replace(`maxpagesize=${step}`, 'maxpagesize=5')
}
