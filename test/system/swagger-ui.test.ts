import t from 'tap'
import { needsBrowser, openBrowser, openTab } from '../browser/open.js'
import { startExample } from '../example-server.js'

t.test('Swagger UI shows the tags, and what a click opens', needsBrowser, async t => {
  const { url } = await startExample(t)
  const tab = await openTab(await openBrowser(t), { javaScriptEnabled: true })
  const failures: unknown[] = []
  tab.on('pageerror', error => failures.push(error))
  tab.on('request', request => { if (!request.url().startsWith(url)) failures.push(request.url()) })

  await tab.goto(`${url}/documentation`)
  const tags = tab.locator('.opblock-tag')
  await tags.first().waitFor()
  const { tags: described } = await (await fetch(`${url}/documentation/json`)).json() as { tags: { name: string }[] }
  t.strictSame(
    (await tags.evaluateAll(all => all.map(tag => tag.getAttribute('data-tag')))).sort(),
    described.map(({ name }) => name).sort()
  )
  t.equal(await tab.locator('.opblock').count(), 0, 'operations are folded up')
  t.ok(await tab.getByRole('button', { name: 'Schemas' }).isVisible(), 'and schemas are')
  t.equal(await tab.locator('.models .json-schema-2020-12').count(), 0)

  await tab.locator('[data-tag="deals: operations"]').click()
  const hold = tab.locator('.opblock-put', { has: tab.locator('[data-path="/rest/v1/deals/{id}/hold"]') })
  await hold.locator('.opblock-summary-control').click()
  await hold.locator('.response[data-code="409"]').waitFor()
  t.match(await hold.locator('.parameters [data-param-name]').evaluateAll(
    all => all.map(row => row.getAttribute('data-param-name'))
  ), ['id', 'if-match'])
  t.match(await hold.locator('.opblock-section-request-body').textContent(), 'reason')
  t.ok(await hold.locator('.response[data-code="200"]').isVisible())
  t.strictSame(failures, [])
})
