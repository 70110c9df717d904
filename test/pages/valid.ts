import type { Test } from 'tap'
import { isFast } from '../size.js'

/** Checks that pages are valid HTML. To load the validator takes longer than most tests, so not in `test:fast`. */
export async function checkHtml (t: Test, pages: Iterable<readonly [name: string, page: string]>): Promise<void> {
  await t.test('is valid HTML', { skip: isFast && 'not in test:fast' }, async t => {
    const { HtmlValidate } = await import('html-validate')
    const validator = new HtmlValidate({
      extends: ['html-validate:recommended', 'html-validate:standard', 'html-validate:a11y', 'html-validate:document'],
      // The columns of a list are checkboxes of one name.
      rules: { 'form-dup-name': ['error', { shared: ['radio', 'button', 'reset', 'submit', 'checkbox'] }] }
    })
    let count = 0
    for (const [name, page] of pages) {
      const { results } = await validator.validateString(page)
      const found = results.flatMap(({ messages }) => messages)
      t.strictSame(found.map(({ ruleId, message, line }) => `${line} ${ruleId}: ${message}`), [], name)
      count++
    }
    t.ok(count > 0)
  })
}
