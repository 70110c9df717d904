import t from 'tap'
import { english } from '../../lib/html/texts.js'
import { de } from '../../lib/locales/de.js'

type Text = (...args: readonly unknown[]) => string

// What German says in another way, or leaves out.
const unsaid: Readonly<Record<string, readonly string[]>> = {
  wrongState: ['first']
}

// Arguments that cannot be any text.
const known: Readonly<Record<string, readonly (string | readonly string[])[]>> = {
  possible: [['first', 'second']],
  condition: ['first', 'gt', 'third']
}

t.test('German has every text, with everything that the English one shows', async t => {
  t.strictSame(Object.keys(de).sort(), Object.keys(english).sort())
  for (const [name, text] of Object.entries(english) as [keyof typeof english, unknown][]) {
    t.equal(typeof de[name], typeof text, name)
    if (typeof text !== 'function') continue
    const args = known[name] ?? ['first', 'second', 'third'].slice(0, text.length)
    const shown = (text as Text)(...args)
    const german = (de[name] as unknown as Text)(...args)
    for (const arg of args.flat().filter(arg => shown.includes(arg) && !unsaid[name]?.includes(arg))) {
      t.match(german, arg, `${name}: ${german}`)
    }
    t.not(german.trim(), '', name)
  }
})
