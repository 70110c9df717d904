import { EventEmitter, once } from 'node:events'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import type { Browser, Locator, Page } from 'playwright-core'
import t from 'tap'
import type { FamilyOptions } from '../../lib/index.js'
import { customers, deals, memoryStorage, Type } from '../../lib/index.js'
import { buttonsOf, confirm, focused, focusedFirst, formOf, message, submit, unfold } from '../browser/forms.js'
import { follow, needsBrowser, openBrowser, openTab } from '../browser/open.js'
import { people, storageOf } from '../customers-app.js'
import type { Item } from '../deals/app.js'
import { createDeal, home, readDeal, readLog } from '../deals/app.js'

// One for all: to start a browser takes longer than most of what is done with it.
const shared = needsBrowser.skip === false ? await openBrowser(t) : undefined

interface Started { readonly app: FastifyInstance, readonly address: string, readonly browser: Browser }

/** A server with 200 customers and no deals, and a browser. */
async function startApp (
  t: { teardown (close: () => Promise<unknown>): void },
  options: Partial<FamilyOptions> = {},
  addHooks: (app: FastifyInstance) => void = () => {}
): Promise<Started> {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  addHooks(app)
  app.register(customers, { storage: await storageOf(people(200)) })
  app.register(deals, { storage: memoryStorage(), version: 'v1', ...options })
  return { app, address: await app.listen({ port: 0 }), browser: shared as Browser }
}

const click = async (link: Locator): Promise<void> => await follow(link.page(), () => link.click())
const column = async (tab: Page, number: number): Promise<string[]> =>
  await tab.locator(`tbody td:nth-child(${number})`).allTextContents()
const countOf = async (app: FastifyInstance): Promise<number> =>
  (await app.inject(`${home}?count=exact`)).json<{ total: number }>().total

/** What the page says of the item. */
async function shownValue (tab: Page, name: string): Promise<string | undefined> {
  const cells = await tab.locator('main > dl > *, .about > dl > *').allTextContents()
  const at = cells.indexOf(name)
  return at === -1 ? undefined : cells[at + 1]
}

t.test('a person finds customers', needsBrowser, async t => {
  const { address, browser } = await startApp(t)
  const tab = await openTab(browser)
  await tab.goto(`${address}/customers?maxpagesize=20`)
  t.equal(await tab.locator('h1').textContent(), 'Customers')
  t.equal((await column(tab, 1)).length, 20)

  await tab.locator('.filter > summary').click()
  await tab.getByText('More filters').click()
  await tab.getByLabel('Age from').fill('30')
  await tab.getByLabel('Children to').fill('1')
  await click(tab.locator('.filter').getByRole('button', { name: 'Apply' }))
  t.equal((await column(tab, 1)).length, 20, 'the size of the page stays')
  t.ok((await column(tab, 2)).every(age => Number(age) >= 30))
  t.ok((await column(tab, 3)).every(children => Number(children) <= 1))
  t.equal(await tab.getByLabel('Age from', { exact: true }).inputValue(), '30', 'what was chosen is seen')

  await click(tab.getByRole('link', { name: 'Age', exact: true }))
  t.equal((await column(tab, 2)).length, 20)
  t.ok(
    (await column(tab, 2)).every((age, index, ages) => index === 0 || Number(age) >= Number(ages[index - 1])),
    'upwards'
  )
  await click(tab.getByRole('link', { name: 'Age ↑' }))
  t.equal(await tab.locator('th[aria-sort=descending]').textContent(), 'Age ↓')
  t.equal(Math.max(...(await column(tab, 2)).map(Number)), Number((await column(tab, 2))[0]), 'downwards')

  const first = await column(tab, 1)
  const seen = [...first]
  while (await tab.getByRole('link', { name: 'Next' }).count() > 0) {
    await click(tab.getByRole('link', { name: 'Next' }))
    seen.push(...await column(tab, 1))
  }
  const expected = people(200).filter(({ age, children }) => age >= 30 && children <= 1).map(({ id }) => String(id))
  t.strictSame(seen.sort(), expected.sort(), 'everyone once')
  while ((await tab.getByRole('link', { name: 'Previous' }).count()) > 0) {
    await click(tab.getByRole('link', { name: 'Previous' }))
  }
  t.strictSame(await column(tab, 1), first, 'and back to where it began')

  await click(tab.locator('tbody a').first())
  t.equal(await shownValue(tab, 'Id'), first[0])
  await click(tab.locator('.trail').getByRole('link', { name: 'Customers', exact: true }))
  t.equal(new URL(tab.url()).pathname, '/customers')
})

t.test('a filter that cannot be is refused beside its field', needsBrowser, async t => {
  const { address, browser } = await startApp(t)
  const tab = await openTab(browser)
  const answer = await tab.goto(`${address}/customers?min-age=young&sort=age`)
  t.equal(answer?.status(), 400)
  t.match(await tab.locator('#filter-min-age-error').textContent(), /^Age from must be a whole number\.$/)
  t.match(await tab.getByRole('alert').textContent(), /Please correct what you entered/)
  await tab.goto(`${address}/customers?agee=3`)
  t.match(await tab.getByRole('alert').textContent(), /Did you mean "age"\?/)
  await tab.goto(`${address}/customers?min-age=500`)
  t.equal(await tab.locator('.empty').textContent(), 'No customers match these filters. Show all')
  await click(tab.getByRole('link', { name: 'Clear all' }))
  t.equal((await column(tab, 1)).length, 50)
})

t.test('a person takes a deal through its life', needsBrowser, async t => {
  const { app, address, browser } = await startApp(t)
  const tab = await openTab(browser)
  await tab.goto(`${address}${home}`)
  t.equal(await tab.getByText('There are no deals yet. Create the first one above.').count(), 1)

  // Too much for a number that is kept exactly, which only the server knows.
  const create = () => formOf(tab, 'create')
  await create().getByLabel('Name').fill('Ten tons of "tea" & <more>')
  await create().getByLabel('Price').fill('99999999999999999999')
  await create().getByLabel('Completion date').fill('2027-03-31')
  await submit(create())
  t.equal(await countOf(app), 0)
  t.match(await tab.locator('#create-price-error').textContent(), /^Price must be a number\.$/)
  t.equal(await create().getByLabel('Price').getAttribute('aria-invalid'), 'true')
  const folded = tab.locator('.requests > summary')
  const background = await folded.evaluate(each => {
    const { getComputedStyle } = globalThis as unknown as {
      getComputedStyle: (element: unknown) => { backgroundColor: string }
    }
    return getComputedStyle(each).backgroundColor
  })
  t.equal(background, 'rgba(0, 0, 0, 0)', 'no second button')
  t.match(await create().getByLabel('Price').getAttribute('aria-describedby'), 'create-price-error')
  t.strictSame(
    [
      await create().getByLabel('Name').inputValue(),
      await create().getByLabel('Price').inputValue(),
      await create().getByLabel('Completion date').inputValue()
    ],
    ['Ten tons of "tea" & <more>', '99999999999999999999', '2027-03-31'],
    'what was typed is still there'
  )
  await create().getByLabel('Price').fill('12500.5')
  await submit(create())

  const [{ id }] = (await app.inject(home)).json<{ items: [Item] }>().items
  t.equal(tab.url(), `${address}${home}/${id}`, 'success leads to the deal')
  t.strictSame([await message(tab), await focusedFirst(tab)], ['Created.', 'DIV message'])
  t.equal(await tab.title(), 'Created: Ten tons of "tea" & <more> - API')
  t.equal(await tab.locator('h1').innerText(), 'Ten tons of "tea" & <more> Open')
  t.equal(await shownValue(tab, 'Price'), '12,500.5')
  t.equal(await shownValue(tab, 'Completion date'), '31 Mar 2027')
  t.equal(await tab.locator('time[datetime="2027-03-31"]').count(), 2, 'in the deal and in the log')
  t.strictSame(await buttonsOf(tab), [
    'Hold', 'Complete', 'Change the price', 'Change the completion date', 'Rename', 'Cancel the deal', 'Delete the deal'
  ], 'what can be done now')
  await tab.reload()
  t.equal(await tab.getByRole('status').count(), 0, 'the message is said once')

  const late = await openTab(browser)
  await late.goto(`${address}${home}/${id}`)

  const hold = await unfold(tab, 'hold')
  await hold.getByLabel('Reason').fill('The lawyer\nis away')
  await submit(hold)
  t.strictSame([await message(tab), await focusedFirst(tab)], ['Held.', 'DIV message'])
  t.match(await tab.title(), /^Held: Ten/)
  t.equal(await shownValue(tab, 'Held'), 'Yes')
  t.equal(await shownValue(tab, 'Hold reason'), 'The lawyer\nis away')
  t.strictSame(await buttonsOf(tab), ['Release', 'Rename', 'Cancel the deal', 'Delete the deal'])
  t.equal(await shownValue(tab, 'Complete'), 'The deal is held', 'and why not the others')
  const [entry] = await tab.locator('.timeline li').allInnerTexts()
  t.match(entry, /^Held Revision 2[^]*Held\s+No → Yes[^]*The lawyer/, 'the log')

  // The other tab still shows the deal as it was.
  const complete = await unfold(late, 'complete')
  await complete.getByLabel('Comment').fill('At last')
  await submit(complete)
  const alert = late.getByRole('alert')
  t.match(await alert.innerText(), /Someone has changed it[^]*What has changed\s+Held Revision 2[^]*The lawyer/)
  t.equal(await alert.locator('.timeline li').count(), 1, 'what is new since the page was opened')
  t.equal(await alert.locator('> dl dd').textContent(), 'At last', 'what was typed is not lost with its form')
  t.match([await late.title(), await focused(late)], [/^Not done: /, 'DIV refused'])
  t.equal(await shownValue(late, 'Held'), 'Yes', 'the page shows the deal as it is')
  t.equal(await shownValue(late, 'Complete'), 'The deal is held')
  t.equal((await readDeal(app, id)).status, 'open')

  await submit(await unfold(late, 'unhold'))
  t.equal(await message(late), 'Released.')
  t.equal(await shownValue(late, 'Held'), 'No')
  await submit(await unfold(late, 'complete'))
  t.equal(await late.locator('h1').innerText(), 'Complete?')
  t.match(await late.locator('main').innerText(), /This cannot be undone\.[^]*Status\s+Open → Completed/)
  t.equal((await readDeal(app, id)).status, 'open', 'nothing is done yet')
  t.equal(await focusedFirst(late), 'A button', 'the safe choice has the focus')
  await follow(late, () => late.keyboard.press('Enter'))
  await confirm(await unfold(late, 'complete'))
  t.equal(await message(late), 'Completed.')
  t.equal(await shownValue(late, 'Status'), 'Completed')
  t.strictSame(await buttonsOf(late), ['Rename', 'Delete the deal'])
  await submit(await unfold(late, 'edit'))
  t.equal(await message(late), 'Nothing changed.')

  await click(late.getByRole('link', { name: 'Full history' }))
  t.equal(await late.locator('.timeline li').count(), 5, 'what changed nothing too')
  await click(late.locator('.timeline a').filter({ hasText: /^Revision/ }).last())
  t.equal(await shownValue(late, 'Action'), 'CreateDeal')
  await click(late.locator('.trail a').nth(1))
  await confirm(await unfold(late, 'delete'))
  t.equal(late.url(), `${address}${home}`)
  t.match([await message(late), await focused(late), await late.title()], [/^Deleted\./, 'DIV message', /^Deleted: /])
  t.equal(await countOf(app), 0)
  await click(late.getByRole('link', { name: 'Its history' }))
  t.match(await late.locator('.timeline li').first().innerText(), /^Deleted /, 'the log of what is gone')
})

t.test('a person edits a deal, and changes only what was touched', needsBrowser, async t => {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  const fields = Type.Object({ note: Type.Optional(Type.String()), urgent: Type.Optional(Type.Boolean()) })
  const ours = deals.extend({ fields, create: ['note', 'urgent'], edit: ['note', 'urgent'] })
  app.register(ours, { storage: memoryStorage(), version: 'v1' })
  const address = await app.listen({ port: 0 })
  // No browser sends these line ends back as they were.
  const note = '\n first\r\nsecond\rthird '
  const { id } = await createDeal(app, { note })
  const tab = await openTab(shared as Browser)
  await tab.goto(`${address}${home}/${id}`)
  const late = await openTab(shared as Browser)
  await late.goto(`${address}${home}/${id}`)
  const edit = (tab: Page) => formOf(tab, 'edit')
  await unfold(tab, 'edit')
  await unfold(late, 'edit')
  t.equal(await edit(tab).getByLabel('Name').inputValue(), 'Ten tons of tea')
  t.equal(await edit(tab).getByLabel('Note').inputValue(), '\n first\nsecond\nthird ')

  await submit(edit(tab))
  t.match(await readDeal(app, id), { note, revision: 1 }, 'nothing was touched')
  await unfold(tab, 'edit')
  await edit(tab).getByLabel('Urgent').selectOption('Yes')
  await submit(edit(tab))
  t.match(await readDeal(app, id), { name: 'Ten tons of tea', note, urgent: true, revision: 2 })

  await edit(late).getByLabel('Name').fill('Silk')
  await submit(edit(late))
  t.match(await late.getByRole('alert').textContent(), 'Someone has changed it since you opened this page.')
  t.equal(await edit(late).getByLabel('Name').inputValue(), 'Silk', 'what was typed')
  t.equal(await edit(late).getByLabel('Urgent').inputValue(), 'true', 'what is there now')
  await edit(late).getByLabel('Note').fill('')
  await submit(edit(late))
  const { note: gone, ...deal } = await readDeal(app, id)
  t.equal(gone, undefined, 'what was emptied')
  t.match(deal, { name: 'Silk', urgent: true, revision: 3 })
})

t.test('a form that is sent twice does nothing twice', needsBrowser, async t => {
  // No POST goes on before both are there, so that the second click meets the form and not the page that comes after.
  const events = new EventEmitter()
  const posts = { received: 0, answered: 0 }
  const bothSent = once(events, 'both')
  const { app, address, browser } = await startApp(t, {}, app => {
    app.addHook('preHandler', async ({ method }) => {
      if (method !== 'POST') return
      posts.received++
      events.emit('received')
      await bothSent
    })
    app.addHook('onSend', async ({ method }) => {
      if (method !== 'POST') return
      posts.answered++
      events.emit('answered')
    })
  })
  const tab = await openTab(browser)
  await tab.goto(`${address}${home}`)
  const create = formOf(tab, 'create')
  await create.getByLabel('Name').fill('Once')
  await create.getByLabel('Price').fill('1')
  const sent = new URLSearchParams({
    _key: await create.locator('[name=_key]').inputValue(),
    name: 'Once',
    price: '1',
    completionDate: ''
  })
  const button = create.getByRole('button')
  await button.scrollIntoViewIfNeeded()
  const { x, y } = (await button.boundingBox()) as { x: number, y: number }
  for (const clicks of [1, 2]) {
    await tab.mouse.click(x + 5, y + 5)
    while (posts.received < clicks) await once(events, 'received')
  }
  events.emit('both')
  // The second click has aborted the first navigation; what counts is where the person ends.
  await tab.getByRole('status').waitFor()
  while (posts.answered < 2) await once(events, 'answered')
  const made = tab.url()
  t.equal(await countOf(app), 1, 'by a hasty hand')
  // As a browser does it that sends the page again.
  const post = async (form: URLSearchParams) =>
    await app.inject({
      method: 'POST',
      url: home,
      headers: { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' },
      payload: form.toString()
    })
  const again = await post(sent)
  t.strictSame([again.statusCode, `${address}${again.headers.location}`], [303, made])
  t.equal(await countOf(app), 1, 'by a page that is sent again')
  sent.set('name', 'Another')
  t.not(`${address}${(await post(sent)).headers.location}`, made, 'another name is another deal')
  t.equal(await countOf(app), 2)

  await tab.goto(made)
  const id = new URL(made).pathname.split('/').at(-1) as string
  const twin = await openTab(browser)
  await twin.goto(made)
  for (const page of [tab, twin]) {
    const form = await unfold(page, 'change-price')
    await form.getByLabel('New price').fill('7')
    await form.getByLabel('Reason').fill('Cheaper')
    await submit(form)
    t.equal(await page.getByRole('alert').count(), page === tab ? 0 : 1)
  }
  // The page says that it was changed; the person sends it nevertheless.
  await submit(formOf(twin, 'change-price'))
  t.equal(await message(twin), 'Nothing changed.')
  t.strictSame(
    (await readLog(app, id)).map(({ action, outcome }) => [action, outcome]),
    [['CreateDeal', 'done'], ['ChangeDealPrice', 'done'], ['ChangeDealPrice', 'unchanged']],
    'another page is another command'
  )
})

t.test('where writes must say what they were decided on, the forms do', needsBrowser, async t => {
  const { app, address, browser } = await startApp(t, { preconditions: 'required' })
  const { id } = await createDeal(app)
  const [tab, late] = [await openTab(browser), await openTab(browser)]
  for (const page of [tab, late]) await page.goto(`${address}${home}/${id}`)
  const change = async (page: Page, price: string): Promise<void> => {
    const form = await unfold(page, 'change-price')
    await form.getByLabel('New price').fill(price)
    await form.getByLabel('Reason').fill('r')
    await submit(form)
  }
  await change(tab, '5')
  t.equal(await shownValue(tab, 'Price'), '5')
  await change(late, '6')
  t.match(await late.getByRole('alert').textContent(), /Someone has changed it/)
  t.equal(await shownValue(late, 'Price'), '5')
  t.equal(await formOf(late, 'change-price').getByLabel('New price').inputValue(), '6')
  await submit(formOf(late, 'change-price'))
  t.equal(await shownValue(late, 'Price'), '6', 'knowing it, the person can still do it')
})

t.test('the keyboard is enough to filter, and to undo it', needsBrowser, async t => {
  const { address, browser } = await startApp(t)
  const tab = await openTab(browser)
  await tab.goto(`${address}/customers`)
  await tab.keyboard.press('Tab')
  t.equal(await focused(tab), 'A skip', 'past everything that all pages have')
  // Past the links to the two families.
  for (let stop = 0; stop < 3; stop++) await tab.keyboard.press('Tab')
  t.equal(await focused(tab), 'SUMMARY Filters')
  await tab.keyboard.press('Enter')
  for (let field = 0; field < 3; field++) await tab.keyboard.press('Tab')
  t.equal(await focused(tab), 'INPUT filter-min-age')
  const outline = await tab
    .locator('#filter-min-age')
    .evaluate(
      field =>
        (globalThis as unknown as { getComputedStyle (field: unknown): { outlineStyle: string } }).getComputedStyle(
          field
        ).outlineStyle
    )
  t.equal(outline, 'solid', 'where the focus is, is seen')
  await tab.keyboard.type('60')
  await follow(tab, () => tab.keyboard.press('Enter'))
  t.match(tab.url(), 'min-age=60')
  t.equal((await column(tab, 2)).length, people(200).filter(({ age }) => age >= 60).length)
  t.ok((await column(tab, 2)).every(age => Number(age) >= 60))

  for (let stop = 0; stop < 7; stop++) await tab.keyboard.press('Tab')
  t.match(await focused(tab), /^A Age from 60/, 'after the families and the bar comes what is filtered by')
  await follow(tab, () => tab.keyboard.press('Enter'))
  t.equal(new URL(tab.url()).search, '')
  t.equal((await column(tab, 2)).length, 50)
})

t.test('light or dark, wide or narrow', needsBrowser, async t => {
  const { app, address, browser } = await startApp(t)
  const { id } = await createDeal(app, { name: 'W'.repeat(300) })
  const papers = new Set<string>()
  const tab = await openTab(browser)
  for (const colorScheme of ['light', 'dark'] as const) {
    await tab.emulateMedia({ colorScheme })
    for (const width of [1280, 360]) {
      await tab.setViewportSize({ width, height: 700 })
      for (const path of [
        '/customers', home, `${home}?name.has=${'W'.repeat(150)}`, `${home}/${id}`, `${home}/${id}/commands`,
        `${home}/${id}/operations.html`, '/customers/0'
      ]) {
        await tab.goto(`${address}${path}`)
        const { wide, paper } = await tab.evaluate(() => {
          const { document, getComputedStyle } = globalThis as unknown as {
            document: { documentElement: { scrollWidth: number }, body: unknown }
            getComputedStyle (element: unknown): { backgroundColor: string }
          }
          return { wide: document.documentElement.scrollWidth, paper: getComputedStyle(document.body).backgroundColor }
        })
        t.ok(wide <= width, `${path} fits ${width}, ${colorScheme}`)
        papers.add(`${colorScheme} ${paper}`)
      }
    }
  }
  t.strictSame(
    [...papers].sort(),
    ['dark rgb(20, 23, 26)', 'light rgb(255, 255, 255)'],
    'the style is let in, and follows the system'
  )
})
