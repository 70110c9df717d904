import type { Locator, Page } from 'playwright-core'
import { follow } from './open.js'

/** Operations without parameters are buttons, which are found by the address they are sent to. */
const buttons: Readonly<Record<string, string>> = { unhold: 'unholds', delete: 'deletions' }

/** A form by the name of its operation; what is folded up need not be unfolded to be read. */
export const formOf = (tab: Page, name: string): Locator => {
  const noun = buttons[name]
  if (noun !== undefined) return tab.locator(`form.operation[action$="/${noun}"]`)
  return tab.locator(name === 'create' ? '.create form' : `form[aria-labelledby="${name}.title"]`)
}

export const unfold = async (tab: Page, name: string): Promise<Locator> => {
  const form = formOf(tab, name)
  const details = tab.locator('details', { has: form })
  if (await details.count() > 0 && await details.getAttribute('open') === null) {
    await details.locator('> summary').click()
  }
  return form
}

export const submit = async (form: Locator): Promise<void> =>
  await follow(form.page(), () => form.locator('> button').click())
/** The same where a page asks first. */
export const confirm = async (form: Locator): Promise<void> => {
  await submit(form)
  await submit(form.page().locator('form.confirm'))
}
/** What the buttons of the operations say. */
export const buttonsOf = async (tab: Page): Promise<string[]> =>
  await tab.locator('.operation > form > button, form.operation > button').allTextContents()

export const message = async (tab: Page): Promise<string> => (await tab.getByRole('status').innerText()).trim()

export const focused = async (tab: Page): Promise<string> => await tab.evaluate(() => {
  const { document: { activeElement: element } } = globalThis as unknown as {
    document: { activeElement: { tagName: string, textContent: string, id: string, className: string } }
  }
  return `${element.tagName} ${element.id || element.className || element.textContent.trim().slice(0, 20)}`
})

/** The browser gives the focus of a new page some time after it was loaded. */
export async function focusedFirst (tab: Page): Promise<string> {
  let place = await focused(tab)
  for (let tries = 0; place.startsWith('BODY') && tries < 200; tries++) {
    await tab.waitForTimeout(25)
    place = await focused(tab)
  }
  return place
}
