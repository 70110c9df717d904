import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'

// Half as long as what the package exports.
const source = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

interface Axe {
  run (options: object): Promise<{ violations: { id: string, nodes: { html: string }[] }[] }>
}

/** What axe finds in a page, by all of its rules or by these; the tab must run scripts, also against the CSP. */
export async function findBarriers (tab: Page, runOnly?: readonly string[]): Promise<string[]> {
  // It is large, and a tab whose content is only replaced has it still.
  if (!await tab.evaluate(() => 'axe' in globalThis)) await tab.evaluate(source)
  return await tab.evaluate(async options => {
    const { violations } = await (globalThis as unknown as { axe: Axe }).axe.run(options)
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
  }, { resultTypes: ['violations'], ...runOnly === undefined ? {} : { runOnly } })
}
