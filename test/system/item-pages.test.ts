import Fastify from 'fastify'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import t from 'tap'
import { deals, memoryStorage } from '../../lib/index.js'
import { confirm, focused, focusedFirst, formOf, message, submit, unfold } from '../browser/forms.js'
import { follow, needsBrowser, openBrowser, openTab } from '../browser/open.js'
import type { Item } from '../deals/app.js'
import { createDeal, home, readDeal, readLog } from '../deals/app.js'

// One for all: to start a browser takes longer than most of what is done with it.
const shared = needsBrowser.skip === false ? await openBrowser(t) : undefined

const scripts: BrowserContextOptions = { javaScriptEnabled: true, locale: 'de-DE', timezoneId: 'Asia/Tokyo' }

async function startApp (t: { teardown (close: () => Promise<unknown>): void }) {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  app.register(deals, { storage: memoryStorage(), version: 'v1' })
  return { app, address: await app.listen({ port: 0 }), browser: shared as Browser }
}

/** Presses the tabulator until this has the focus. */
async function reach (tab: Page, place: RegExp): Promise<void> {
  for (let presses = 0; !place.test(await focused(tab)); presses++) {
    if (presses > 60) throw new Error(`${place} is never reached`)
    await tab.keyboard.press('Tab')
  }
}

for (const [name, options] of [['without scripts', undefined], ['with the script', scripts]] as const) {
  t.test(`by the keyboard alone, ${name}`, needsBrowser, async t => {
    const { app, address, browser } = await startApp(t)
    const tab = await openTab(browser, options)
    const failures: unknown[] = []
    tab.on('pageerror', error => failures.push(error))
    // That a page was refused, the console says too.
    tab.on('console', line => line.text().startsWith('Failed to load') || failures.push(line.text()))
    const press = async (key: string) => await follow(tab, () => tab.keyboard.press(key))

    await tab.goto(`${address}${home}`)
    await reach(tab, /create-name/)
    await tab.keyboard.type('Tea')
    await reach(tab, /create-price/)
    await tab.keyboard.type('1')
    await press('Enter')
    t.strictSame([await message(tab), await focusedFirst(tab)], ['Created.', 'DIV message'])
    const [{ id }] = (await app.inject(home)).json<{ items: [Item] }>().items
    t.equal(tab.url(), `${address}${home}/${id}`, 'an address to share')

    await reach(tab, /hold\.title/)
    await tab.keyboard.press('Enter')
    await reach(tab, /hold-reason/)
    await tab.keyboard.type('By hand')
    await tab.keyboard.press('Tab')
    await press('Enter')
    t.strictSame([await message(tab), await focusedFirst(tab)], ['Held.', 'DIV message'])
    t.match(await readDeal(app, id), { held: true, holdReason: 'By hand' })

    // What this page offers is no longer allowed when it is sent.
    for (const verb of ['unhold', 'complete']) await app.inject({ method: 'PUT', url: `${home}/${id}/${verb}` })
    await reach(tab, /cancel\.title/)
    await tab.keyboard.press('Enter')
    await reach(tab, /cancel-amercement/)
    await tab.keyboard.type('1')
    await reach(tab, /cancel-reason/)
    await tab.keyboard.type('Too late')
    await tab.keyboard.press('Tab')
    await press('Enter')
    t.match([await focusedFirst(tab), await tab.title()], ['DIV refused', /^Not done: /])
    t.match(await tab.getByRole('alert').innerText(), /Someone has changed it[^]*Completed[^]*Released[^]*Too late/)

    await reach(tab, /BUTTON danger/)
    await press('Enter')
    t.match(await tab.locator('main').innerText(), /Delete the deal\?[^]*The deal will be deleted/)
    t.equal((await app.inject(`${home}/${id}`)).statusCode, 200, 'it asks first')
    await reach(tab, /BUTTON danger/)
    await press('Enter')
    t.match([await message(tab), await focusedFirst(tab)], [/^Deleted\./, 'DIV message'])
    t.equal((await app.inject(`${home}/${id}`)).statusCode, 404)
    t.strictSame(failures, [], 'the policy lets in what there is')
  })
}

t.test('what a script makes better', needsBrowser, async t => {
  const { app, address, browser } = await startApp(t)
  const { id } = await createDeal(app, { price: 1234567.5, completionDate: '2027-03-31' })
  const tab = await openTab(browser, scripts)
  await tab.goto(`${address}${home}/${id}`)

  await t.test('moments are in the zone of the reader, all else as the server writes it', async t => {
    t.equal(await tab.locator('dd .number').first().innerText(), '1,234,567.5')
    t.equal(await tab.locator('time[datetime="2027-03-31"]').first().innerText(), '31 Mar 2027')
    t.equal(await tab.locator('.zone').innerText(), 'Times are in Asia/Tokyo.')
    const { createdAt } = await readDeal(app, id)
    const moment = tab.locator(`time[datetime="${String(createdAt)}"]`).first()
    const options = { dateStyle: 'medium', timeStyle: 'short', timeZone: 'Asia/Tokyo' } as const
    t.equal(await moment.innerText(), new Intl.DateTimeFormat('en-GB', options).format(new Date(String(createdAt))))
    t.equal(await moment.getAttribute('title'), createdAt, 'exactly')
  })

  await t.test('what was entered is shown as text where a page asks first', async t => {
    const cancel = await unfold(tab, 'cancel')
    await cancel.getByLabel('Fee').fill('5')
    await cancel.getByLabel('Reason').fill('<img src=x onerror=alert(1)>')
    await submit(cancel)
    const main = tab.locator('main')
    t.match(await main.innerText(), /Cancel the deal\?[^]*→ 5[^]*Reason\s+<img src=x onerror=alert\(1\)>/)
    t.equal(await main.locator('img').count(), 0)
    await follow(tab, () => tab.getByRole('link', { name: 'No, go back' }).click())
    t.equal((await readDeal(app, id)).status, 'open')
    const again = await unfold(tab, 'cancel')
    await again.getByLabel('Fee').fill('5')
    await again.getByLabel('Reason').fill('<img src=x onerror=alert(1)>')
    await confirm(again)
    t.equal(await message(tab), 'Cancelled.')
    t.equal(await tab.getByText('onerror=alert').first().isVisible(), true)
    t.equal((await readLog(app, id)).length, 2)
  })

  await t.test('two clicks do it once', async t => {
    const { id } = await createDeal(app)
    await tab.goto(`${address}${home}/${id}`)
    const hold = await unfold(tab, 'hold')
    await hold.getByLabel('Reason').fill('r')
    await follow(tab, () => hold.locator('> button').evaluate(button => {
      const { click } = button as unknown as { click (): void }
      click.call(button)
      click.call(button)
    }))
    t.equal(await message(tab), 'Held.')
    t.equal((await readLog(app, id)).length, 2)
  })

  await t.test('no empty parameters are in the address', async t => {
    await tab.goto(`${address}${home}`)
    await tab.locator('.filter > summary').click()
    await tab.getByText('More filters').click()
    await tab.locator('#filter-min-price').fill('7')
    await follow(tab, () => tab.locator('#filter-min-price').press('Enter'))
    const { search } = new URL(tab.url())
    t.match(search, /[?&]min-price=7/)
    t.notMatch(search, /=(&|$)/)
  })
})

t.test('a value that its field cannot show is shown nevertheless', needsBrowser, async t => {
  const { app, address, browser } = await startApp(t)
  const { id } = await createDeal(app)
  const tab = await openTab(browser)
  await tab.goto(`${address}${home}/${id}`)
  const form = await unfold(tab, 'change-completion-date')
  // As a browser sends it that knows no such fields.
  await form.evaluate(form => {
    for (const field of (form as unknown as { querySelectorAll (s: string): Iterable<{ type: string }> })
      .querySelectorAll('input:not([type=hidden])')) field.type = 'text'
  })
  await form.getByLabel('New date').fill('tomorrow')
  await form.getByLabel('Fee').fill('much')
  await form.getByLabel('Why changed').fill('Storms')
  await submit(form)
  const again = formOf(tab, 'change-completion-date')
  t.equal(await again.getByLabel('New date').inputValue(), 'tomorrow')
  t.equal(await again.getByLabel('Fee').inputValue(), 'much')
  t.equal(await again.isVisible(), true, 'unfolded')
  await again.getByLabel('New date').fill('2027-03-31')
  await again.getByLabel('Fee').fill('3')
  await submit(again)
  t.equal(await message(tab), 'Completion date changed.')
})
