import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { isFast } from '../size.js'

// Nothing of the browser's own is to use the network.
const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync'
]

// Only a hanging browser is to be noticed: a busy machine may take long for anything.
const timeout = 300_000

// Loaded only where it is used, since it takes as long to load as a whole test.
const executablePath = isFast ? undefined : (await import('./find.js')).findChromium()

/** Skips a test where there is no browser; where everything must be shown to work, that is a failure. */
export const needsBrowser = { skip: whyNot() }

function whyNot (): string | false {
  if (isFast) return 'not in test:fast'
  return executablePath === undefined && process.env['CI'] !== 'true' ? 'no Chromium found; set CHROME_PATH' : false
}

export async function openBrowser (t: { teardown (close: () => Promise<unknown>): void }): Promise<Browser> {
  if (executablePath === undefined) {
    throw new Error('There is no Chromium: run node build/test/browser/find.js, or set CHROME_PATH')
  }
  const { chromium } = await import('playwright-core')
  const browser = await chromium.launch({ executablePath, args, headless: true, timeout })
  t.teardown(() => browser.close())
  return browser
}

// To make a context takes longer than to open most pages.
const contexts = new WeakMap<Browser, Map<string, Promise<BrowserContext>>>()

/** A tab of a person whose browser runs no scripts; all that ask for the same are tabs of one window. */
export async function openTab (browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const opened = contexts.get(browser) ?? new Map<string, Promise<BrowserContext>>()
  contexts.set(browser, opened)
  const key = JSON.stringify(options)
  const context = opened.get(key) ?? makeContext(browser, options)
  opened.set(key, context)
  return await (await context).newPage()
}

async function makeContext (browser: Browser, options: BrowserContextOptions): Promise<BrowserContext> {
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'en', ...options })
  context.setDefaultTimeout(timeout)
  return context
}

/**
 * Does what leads to another page and waits until all of that page is there. A click alone returns earlier, and what is
 * read then may still be the old page, or half of the new one.
 */
export async function follow (tab: Page, act: () => Promise<unknown>): Promise<void> {
  await Promise.all([tab.waitForEvent('load'), act()])
}
