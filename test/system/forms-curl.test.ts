import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { quote } from '../../lib/html/form.js'
import { memoryStorage } from '../../lib/index.js'
import { createDeal, dealsApp, home, readDeal, readLog } from '../deals/app.js'
import { operation, operations } from '../deals/operations.js'
import { oddStrings } from '../odd-strings.js'

const run = promisify(execFile)
const section = await readFile(new URL('../../../docs/forms.md', import.meta.url), 'utf8')
const words = await readFile(new URL('../../../docs/operations.md', import.meta.url), 'utf8')
const hasCurl = await run('curl', ['--version']).then(() => true, () => false)
const needsCurl = { skip: !hasCurl && 'there is no curl' }

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

t.test('every command line works as printed', needsCurl, async t => {
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

/** What the buttons say. */
const labels: Readonly<Record<string, string>> = {
  hold: 'Hold',
  unhold: 'Release',
  complete: 'Complete',
  cancel: 'Cancel the deal',
  'change-price': 'Change the price',
  'change-completion-date': 'Change the completion date',
  edit: 'Rename',
  delete: 'Delete the deal'
}

/** The command line that the page of a deal shows for an operation. */
async function shownCommand (app: FastifyInstance, id: string, name: string): Promise<string> {
  const { body } = await app.inject({ url: `${home}/${id}`, headers: { accept: 'text/html' } })
  const requests = body.split('<details class="requests">')[1]?.split('</details>')[0] ?? ''
  const lines = [...requests.matchAll(/<p><strong>(.*?)<\/strong><\/p>\s*<code class="curl">(.*?)<\/code>/gs)]
    .filter(([, label]) => label === labels[name]).map(([, , code]) => readText(code as string))
  if (lines.length !== 1) throw new Error(`${lines.length} requests are shown for ${name}`)
  return lines[0] as string
}

const characters: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", '#13': '\r' }
const readText = (markup: string): string => markup.replace(/<[^>]*>/g, '')
  .replace(/&(#?\w+);/g, (_, name: string) => characters[name] as string)

t.test('a shell reads what was quoted as one word', async t => {
  // No argument of a program can have this character, nor can what is shown.
  const texts = [...oddStrings(), "'", "''", "'; id #", '$(id)', '`id`', '\\', '!!', '-n', '\n', ' ', '']
    .filter(text => !text.includes('\0') && text.isWellFormed())
  const words = texts.map(quote).join(' ')
  const { stdout } = await run('sh', ['-c', `for word in ${words}; do printf '%s\\0' "$word"; done`])
  t.strictSame(stdout.split('\0').slice(0, -1), texts)
})

t.test('the request that a page shows does what its button does', needsCurl, async t => {
  for (const forms of [undefined, ['noun', 'update']] as const) {
    const app = await dealsApp(memoryStorage(), { preconditions: 'required', ...(forms && { forms }) })
    const address = await app.listen({ port: 0, host: '127.0.0.1' })
    t.teardown(() => app.close())
    const send = async (line: string): Promise<string> => (await run('sh', [
      '-e', '-c', `${line.replace(" '/", ` '${address}/`)} -s -o /dev/null -w '%{http_code}'`
    ])).stdout
    // A name that a shell, a page and JSON each would take for something of theirs.
    const name = 'O\'Neill & "Söhne" <b>$(touch x) \\ `id` \u202e%41'
    const make = async (before: readonly string[]): Promise<string> => {
      const { id } = await createDeal(app, { name })
      for (const [index, step] of before.entries()) {
        const { noun, params: payload } = operation(step)
        const headers = { 'if-match': `"${index + 1}"` }
        const { statusCode } = await app.inject({ method: 'POST', url: `${home}/${id}/${noun}`, headers, payload })
        if (statusCode !== 201) throw new Error(`${step}: ${statusCode}`)
      }
      return id
    }
    for (const { name: operation, verb, noun, action, before } of operations) {
      const id = await make(before)
      const line = await shownCommand(app, id, operation)
      t.match(line, new RegExp(`/${forms === undefined ? verb : noun}' `), operation)
      t.match(await send(line), /^20[01]$/, operation)
      // The form of an edit has what is there already; that it changes nothing need not be recorded.
      if (operation !== 'edit') t.equal((await readLog(app, id)).at(-1)?.action, action)
      t.equal((await readDeal(app, id)).name, name)
    }
    const id = await make([])
    t.equal(await send(await shownCommand(app, id, 'delete')), '204')
    t.equal((await app.inject(`${home}/${id}`)).statusCode, 404)
  }
})

t.test('the table of operations has their words', async t => {
  for (const { verb, participle, noun, action } of operations) {
    t.ok(words.includes(`| \`${verb}\` | \`${participle}\` | \`${noun}\` | \`${action}\` |`), action)
  }
})
