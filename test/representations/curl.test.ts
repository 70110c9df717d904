import { ESLint } from 'eslint'
import t from 'tap'
import { renderRequest } from '../../lib/html/form.js'
import { script } from '../../lib/html/script.js'
import { isFast } from '../size.js'

t.test('what cannot be seen is written out', async t => {
  const { text } = renderRequest({
    method: 'PUT',
    url: 'https://a.example/b?c=1&d=2',
    headers: { 'if-match': '"1"' },
    body: { reason: '\u202egnp.exe \u009b\u00ad</code>' }
  })
  t.match(text, '<code class="curl">curl -X PUT &#39;https://a.example/b?c=1&amp;d=2&#39; ' +
    '-H &#39;if-match: &quot;1&quot;&#39; -d &#39;{&quot;reason&quot;:&quot;' +
    '\\u202egnp.exe \\u009b\\u00ad&lt;/code&gt;&quot;}&#39;</code>')
})

t.test('the script is small, and as the linter wants it', { skip: isFast && 'not in test:fast' }, async t => {
  t.ok(Buffer.byteLength(script) < 9600, `${Buffer.byteLength(script)} bytes`)
  t.notMatch(script, /<\/script|<!--|[^\x20-\x7e\n]/)
  const eslint = new ESLint({
    overrideConfigFile: true,
    overrideConfig: {
      languageOptions: {
        sourceType: 'script',
        globals: Object.fromEntries(
          [
            'document', 'location', 'sessionStorage', 'fetch', 'setTimeout', 'clearTimeout', 'URL', 'CSS',
            'EventSource', 'addEventListener', 'history'
          ].map(name => [name, 'readonly'])
        )
      },
      rules: Object.fromEntries(
        ['no-undef', 'no-unused-vars', 'prefer-const', 'eqeqeq', 'no-var', 'no-shadow'].map(rule => [rule, 'error'])
      )
    }
  })
  const [result] = await eslint.lintText(script)
  t.strictSame(result?.messages, [])
})
