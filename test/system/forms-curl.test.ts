import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import t from 'tap'
import { memoryStorage } from '../../lib/index.js'
import { createDeal, dealsApp, readDeal, readLog } from '../deals/app.js'
import { operations } from '../deals/operations.js'

const run = promisify(execFile)
const section = await readFile(new URL('../../../docs/forms.md', import.meta.url), 'utf8')
const words = await readFile(new URL('../../../docs/operations.md', import.meta.url), 'utf8')
const hasCurl = await run('curl', ['--version']).then(() => true, () => false)

/** The rows of the forms: name, command line, status. */
const rows = [...section.matchAll(/^\| (.+?) \| `(curl .+?)` \| (\d{3})/gm)].map(([, form, line, status]) => ({
  form: form as string,
  line: line as string,
  status: status as string
}))

t.test('every form is in the table', async t => {
  for (const form of ['verb', 'participle', 'update', 'attributes', 'noun', 'command', 'commands']) {
    t.ok(
      rows.some(row => row.form.startsWith(`\`${form}\``)),
      form
    )
  }
  t.equal(rows.length, 9)
})

t.test('every command line works as printed', { skip: !hasCurl && 'there is no curl' }, async t => {
  const app = await dealsApp(memoryStorage())
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  const preparation = (/^```sh\n(URL=.*?)^```/ms.exec(section)?.[1] ?? '').replace('http://127.0.0.1:3000', url)
  const shell = async (...lines: string[]): Promise<string> =>
    (await run('sh', ['-e', '-c', [preparation, ...lines].join('\n')])).stdout

  t.match(await shell('echo "$DEAL"'), new RegExp(`^${url}/rest/v1/deals/[0-9a-f-]{36}\n$`), 'a deal is made')
  for (const { form, line, status } of rows) {
    const { id } = await createDeal(app)
    // Each on a deal of its own, and told what the status was.
    const out = await run('sh', ['-e', '-c', `${line} -s -o /dev/null -w '%{http_code}'`], {
      env: {
        ...process.env,
        URL: url,
        JSON: 'content-type: application/json',
        ID: id,
        DEAL: `${url}/rest/v1/deals/${id}`
      }
    })
    t.equal(out.stdout, status, form)
    t.match(await readDeal(app, id), { held: true, holdReason: 'Papers are missing', revision: 2 }, form)
    t.match((await readLog(app, id)).at(-1), { action: 'HoldDeal', params: { reason: 'Papers are missing' } }, form)
  }
  // One after the other on one deal, as a reader would try them; the ids of the commands are taken by now.
  const fresh = rows.map(({ line }) => `${line.replace(/hold-(\d)/, 'again-$1')} -s -f -o /dev/null`)
  const last = await shell(
    ...fresh,
    'curl -s -f -X PUT $DEAL/unhold',
    'curl -s -f -g "$DEAL/commands?action=HoldDeal&revision>=2"'
  )
  t.match(last, '"held":false')
})

t.test('the table of operations has their words', async t => {
  for (const { verb, participle, noun, action } of operations) {
    t.ok(words.includes(`| \`${verb}\` | \`${participle}\` | \`${noun}\` | \`${action}\` |`), action)
  }
})
