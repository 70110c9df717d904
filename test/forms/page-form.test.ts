import Fastify from 'fastify'
import t from 'tap'
import { deals, memoryStorage, Problem } from '../../lib/index.js'

const home = '/rest/v1/deals'
const headers = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' }

interface Line {
  readonly msg: string
  readonly err?: { readonly message: string }
}

/** A deal, and a form that is refused; the page that it stands on fails as the test says. */
async function sendRefusedForm (
  failure: Error | undefined,
  action: string
): Promise<{ status: number, body: string, lines: Line[] }> {
  const lines: Line[] = []
  const app = Fastify({ logger: { level: 'warn', stream: { write: line => { lines.push(JSON.parse(line)) } } } })
  const storage = memoryStorage()
  let isBroken = false
  await app.register(deals, {
    storage: {
      prepare: storage.prepare,
      get: storage.get,
      commit: storage.commit,
      close: storage.close,
      async find (family, query) {
        if (isBroken && failure !== undefined && !(failure instanceof Problem)) throw failure
        return await storage.find(family, query)
      }
    },
    version: 'v1',
    authorize (_request, intent) {
      if (isBroken && failure instanceof Problem && ['read', 'list'].includes(intent.action)) throw failure
    }
  })
  const { id } = (await app.inject({ method: 'POST', url: home, payload: { name: 'tea', price: 1 } })).json()
  isBroken = true
  const url = action === 'create' ? home : `${home}/${id}/${action}`
  const { statusCode, body } = await app.inject({ method: 'POST', url, headers, payload: '' })
  await app.close()
  return { status: statusCode, body, lines }
}

for (const action of ['create', 'holds']) {
  t.test(`${action}: a form that is refused is shown again`, async t => {
    const { status, body, lines } = await sendRefusedForm(undefined, action)
    t.equal(status, 400)
    t.match(body, 'Please correct what you entered.')
    t.match(body, '<form')
    t.same(lines, [])
  })

  t.test(`${action}: where its page cannot be read, the refusal is answered and the failure logged`, async t => {
    const { status, body, lines } = await sendRefusedForm(new Error('the disk is gone'), action)
    t.equal(status, 400)
    t.notMatch(body, '<form')
    t.match(body, action === 'create' ? 'Name is required' : 'Reason is required')
    t.match(lines, [{ msg: 'The page of a refused form cannot be shown', err: { message: 'the disk is gone' } }])
    t.equal(lines.length, 1)
  })

  t.test(`${action}: where its page may not be seen, the refusal is answered and nothing logged`, async t => {
    const { status, body, lines } = await sendRefusedForm(new Problem('forbidden', 'not you'), action)
    t.equal(status, 400)
    t.notMatch(body, '<form')
    t.same(lines, [])
  })
}
