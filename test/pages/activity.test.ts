import t from 'tap'
import { english } from '../../lib/html/index.js'
import { type FamilyOptions, memoryStorage, Problem } from '../../lib/index.js'
import { de } from '../../lib/locales/de.js'
import { storages } from '../storages.js'
import { createOrder, openShop, see, textOf } from './shop.js'
import { checkHtml } from './valid.js'

type Authorize = NonNullable<FamilyOptions['authorize']>

const byHeader: Authorize = ({ headers }) => ({ principal: String(headers['x-person'] ?? 'ann') })

/** What the entries of a page say, one text for each. */
function entriesOf (page: string): string[] {
  return page.split(/<li class="(?:done|refused|unchanged)">/).slice(1).map(part =>
    textOf(part.slice(0, part.indexOf('</p>') + 4)).trim().replace(/ (?:as it was|wie es war)$/, ''))
}

const followOf = (page: string): string =>
  /data-follow="([^"]*)"/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? 'none'

const daysOf = (page: string): string[] =>
  Array.from(page.matchAll(/<section>\s*<h[23]>([^<]*)</g), ([, day = '']) => day)

t.test('what happens while a page is read is announced', async t => {
  const storage = memoryStorage()
  let isPaging = false
  const { app, ids: { clients: [client] } } = await openShop(t, {
    ...storage,
    async find (family, query, signal) {
      const found = await storage.find(family, query, signal)
      // A long page is read in parts.
      if (isPaging && family === 'commands' && query.limit > 1) {
        isPaging = false
        await createOrder(app, { title: 'Meanwhile', client })
      }
      return found
    }
  })
  for (let count = 0; count < 20; count++) await createOrder(app, { title: 'Before', client })
  isPaging = true
  const page = await see(app, '/shop/orders/commands')
  t.equal(isPaging, false)
  t.equal(entriesOf(page).length, 20)
  t.notMatch(page, 'Meanwhile')
  const after = await app.inject({ url: followOf(page) })
  t.strictSame(after.json<{ items: { order: number }[] }>().items.map(({ order }) => order), [21])
})

for (const { name, make } of storages) {
  const open = async (t: Parameters<typeof openShop>[0], options: Parameters<typeof openShop>[2] = {}) => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    return await openShop(t, storage, { authorize: byHeader, counts: [1, 1], ...options })
  }

  t.test(`${name}: who did what`, async t => {
    const { app, ids: { clients: [client] } } = await open(t)
    const { id } = await createOrder(app, { title: 'Bolts & nuts', client, total: '1.00' })
    const gone = await createOrder(app, { title: 'Gone', client })
    const bob = { 'x-person': 'bob' }
    await app.inject({ method: 'PUT', url: `/shop/orders/${id}/price`, headers: bob, payload: { total: '2.00' } })
    await app.inject({ method: 'PUT', url: `/shop/orders/${id}/send`, payload: {} })
    const again = { ...bob, 'idempotency-key': 'again' }
    await app.inject({ method: 'POST', url: `/shop/orders/${id}/sendings`, headers: again, payload: {} })
    await app.inject({ method: 'DELETE', url: `/shop/orders/${gone.id}` })

    const page = await see(app, '/shop/orders/commands')
    t.match(page, '<h1 dir="auto">Activity of Orders</h1>')
    t.strictSame(entriesOf(page), [
      'Deleted · Gone Revision 2',
      'Nothing changed · Bolts &amp; nuts Revision 3',
      'Done: send the order · Bolts &amp; nuts Revision 3',
      'Done: price the order · Bolts &amp; nuts Revision 2',
      `Created · Order ${gone.id} Revision 1`,
      'Created · Bolts &amp; nuts Revision 1'
    ])
    t.match(textOf(page), /by bob Total 1\.00 → 2\.00/)
    t.match(page, '<li><a href="/shop/orders"><bdi>Orders</bdi></a></li>', 'the trail')
    t.match(page, `<a href="/shop/orders/${id}">Bolts &amp; nuts</a>`)
    t.match(page, `<a href="/shop/orders/${gone.id}/commands">Order ${gone.id}</a>`, 'the log of a deleted item')
    t.match(page, 'href="/shop/orders/commands?sort=-position&amp;format=csv">Export</a>')

    const all = await see(app, '/shop/rest/commands')
    t.match(all, '<h1 dir="auto">Activity</h1>')
    t.equal(entriesOf(all).length, 8)
    t.strictSame(entriesOf(all).slice(-3), [
      'Created · Order Bolts &amp; nuts Revision 1',
      'Created · Plant Plant 1 Revision 1',
      'Created · Client Client 1 Revision 1'
    ])
    t.notMatch(all, 'aria-current="true">Clients', 'no family is current')

    const home = await see(app, '/shop/')
    t.strictSame(entriesOf(home), entriesOf(all).slice(0, 10))
    t.match(home, '<a href="/shop/rest/commands">All activity</a>')
    t.match(await see(app, '/shop/orders'), '<a class="button" href="/shop/orders/commands">Activity</a>')
    await checkHtml(t, Object.entries({ page, all, home }))
  })

  t.test(`${name}: filters and pages`, async t => {
    const { app, ids: { clients: [client] } } = await open(t)
    for (const title of ['a', 'b', 'c']) await createOrder(app, { title, client })
    const bob = { 'x-person': 'bob' }
    await app.inject({ method: 'PUT', url: '/shop/orders/1/price', headers: bob, payload: { total: '2.00' } })
    const count = async (query: string): Promise<number> =>
      entriesOf(await see(app, `/shop/rest/commands?${query}`)).length
    t.equal(await count('action=CreateOrder'), 3)
    t.equal(await count('family=clients'), 1)
    t.equal(await count('principal.has=bob&outcome=&action='), 1, 'as a form sends it')
    t.equal(await count('outcome=refused'), 0)
    const today = new Date().toISOString().slice(0, 10)
    t.equal(await count(`min-createdAt=${today}&time-zone=UTC`), 6)
    t.equal(await count(`max-createdAt=${today}&time-zone=UTC&min-createdAt=2020-01-01`), 6)
    const filtered = await see(app, '/shop/rest/commands?action=PriceOrder&family=orders')
    t.match(filtered, '<bdi>Action: Price the order</bdi>', 'in words')
    t.match(filtered, '<bdi>Family: Orders</bdi>')
    t.match(filtered, '<option value="PriceOrder" selected>Price the order</option>')
    t.match(textOf(await see(app, '/shop/rest/commands?outcome=refused')), 'Nothing happened here. Show all')

    const first = await see(app, '/shop/orders/commands?maxpagesize=3')
    const linkOf = (page: string, text: string): string | undefined =>
      new RegExp(`href="([^"]*)">${text}</a>`).exec(page)?.[1]?.replaceAll('&amp;', '&')
    t.equal(linkOf(first, 'Newer'), undefined)
    const second = await see(app, linkOf(first, 'Older') ?? '')
    t.strictSame(entriesOf(second), ['Created · a Revision 1'])
    t.strictSame(entriesOf(await see(app, linkOf(second, 'Newer') ?? '')), entriesOf(first))
  })

  t.test(`${name}: a narrowed caller sees what it may read`, async t => {
    const { app, ids: { clients: [client] } } = await open(t, {
      authorize (request, { family, action }) {
        const principal = String(request.headers['x-person'] ?? 'ann')
        if (principal !== 'eve') return { principal }
        if (family === 'clients' && action === 'read') throw new Problem('forbidden', 'Not for eve')
        return family === 'orders' ? { principal, where: [{ field: 'sent', op: 'eq', values: [true] }] } : { principal }
      }
    })
    await createOrder(app, { title: 'Secret', client })
    const { id } = await createOrder(app, { title: 'Public', client })
    await app.inject({ method: 'PUT', url: `/shop/orders/${id}/send`, payload: {} })
    const eve = { 'x-person': 'eve' }
    const orders = ['Done: send the order · Public Revision 2', 'Created · Public Revision 1']
    const shared = ['Done: send the order · Order Public Revision 2', 'Created · Order Public Revision 1',
      'Created · Plant Plant 1 Revision 1']
    t.strictSame(entriesOf(await see(app, '/shop/orders/commands', eve)), orders)
    t.strictSame(entriesOf(await see(app, '/shop/rest/commands', eve)), shared)
    const home = await see(app, '/shop/', eve)
    t.strictSame(entriesOf(home), shared)
    t.notMatch(home, 'Secret')
    t.equal((await see(app, '/shop/clients/commands', eve)).includes('Not for eve'), true)
    t.notMatch(await see(app, '/shop/clients', eve), '/shop/clients/commands', 'no link to what is refused')
    t.equal(entriesOf(await see(app, '/shop/rest/commands')).length, 5, 'others see all')
  })

  t.test(`${name}: days are those of the zone`, async t => {
    let now = Date.parse('2026-03-09T10:30:00Z')
    const { app, ids: { clients: [client] } } = await open(t, {
      clock: () => new Date(now), counts: [1, 0], pages: { timeZone: 'Pacific/Auckland', texts: [english, de] }
    })
    now = Date.parse('2026-03-10T10:30:00Z')
    await createOrder(app, { title: 'late', client })
    now = Date.parse('2026-03-10T11:30:00Z')
    const { id } = await createOrder(app, { title: 'after midnight', client })
    await app.inject({ method: 'PUT', url: `/shop/orders/${id}/price`, payload: { total: '5.00' } })
    t.strictSame(daysOf(await see(app, '/shop/rest/commands')), ['Today', 'Yesterday', '9 Mar 2026'])
    t.strictSame(daysOf(await see(app, '/shop/')), ['Today', 'Yesterday', '9 Mar 2026'])
    const german = await see(app, '/shop/rest/commands', { 'accept-language': 'de' })
    t.strictSame(daysOf(german), ['Heute', 'Gestern', '09.03.2026'])
    t.strictSame(entriesOf(german)[0], 'Erledigt: Preis ändern · Auftrag after midnight Revision 2')
    t.match(german, '<option value="orders">Aufträge</option>')
    t.match(german, '<option value="SendOrder">Versenden</option>')
    t.match(textOf(german), /Tag von.*Tag bis/)
    t.match(await see(app, '/shop/orders/commands', { 'accept-language': 'de' }), 'Aktivität: Aufträge</h1>')
    t.match(await see(app, '/shop/', { 'accept-language': 'de' }), 'Alle Aktivitäten')
  })

  t.test(`${name}: pages say where to go on from`, async t => {
    const { app, ids: { clients: [client] } } = await open(t)
    const { id } = await createOrder(app, { title: 'Bolts', client })
    const item = await see(app, `/shop/orders/${id}`)
    const activity = await see(app, '/shop/rest/commands.html?family=orders&format=html&maxpagesize=20')
    const follow = [followOf(item), followOf(activity)]
    t.match(follow[0], `/shop/orders/${id}/commands?after=`)
    t.match(follow[1], '/shop/rest/commands?family=orders&after=')
    t.match(item, 'data-revision="1" data-someone="Someone"')
    t.match(item, /data-actions="[^"]*\bPriceOrder\b/)
    await app.inject({ method: 'PUT', url: `/shop/orders/${id}/price`, payload: { total: '2.00' } })
    for (const url of follow) {
      const { items } = (await app.inject({ url })).json<{ items: { action: string }[] }>()
      t.strictSame(items.map(({ action }) => action), ['PriceOrder'], 'only what came after')
    }
    const stale = await app.inject({
      method: 'POST',
      url: `/shop/orders/${id}/pricings`,
      headers: { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' },
      payload: '_revision=1&total=3'
    })
    t.equal(stale.statusCode, 412)
    t.equal(followOf(stale.body), 'none', 'a refused form has its own notice')
  })
}
