import t from 'tap'
import { memoryStorage } from '../../lib/index.js'
import { createDeal, dealsApp, home } from '../deals/app.js'

const form = 'application/json, application/x-www-form-urlencoded'

t.test('an unsupported media type is refused with the supported ones', async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  const { id } = await createDeal(app)
  for (const [method, url, header, types] of [
    ['POST', home, 'accept-post', form],
    ['POST', `${home}/`, 'accept-post', form],
    ['POST', `${home}/${id}/holds`, 'accept-post', form],
    ['POST', '/command/HoldDeal/', 'accept-post', 'application/json'],
    ['PATCH', `${home}/${id}`, 'accept-patch', 'application/merge-patch+json, application/json'],
    ['PATCH', `${home}/${id}/`, 'accept-patch', 'application/merge-patch+json, application/json'],
    ['PUT', `${home}/${id}`, 'accept', 'application/json'],
    ['PUT', `${home}/${id}/`, 'accept', 'application/json'],
    ['PUT', `${home}/${id}/hold/`, 'accept', 'application/json'],
    ['PUT', '/rest/commands/c1', 'accept', 'application/json'],
    ['DELETE', `${home}/${id}`, 'accept', 'application/json']
  ] as const) {
    const what = `${method} ${url}`
    for (const [type, said] of [
      ['text/plain', 'A body of the type "text/plain"'],
      ['json', 'A body of the type "json"'],
      [undefined, 'A body without a Content-Type']
    ] as const) {
      const headers = type === undefined ? { 'content-length': '1' } : { 'content-type': type }
      const answer = await app.inject({ method, url, headers, payload: Buffer.from('a') })
      const detail = `${said} is not supported here; send ${types.replace(', ', ' or ')}`
      t.match(answer.json(), { type: 'urn:dealbook:problem:unsupported-media-type', detail }, what)
      t.strictSame([answer.statusCode, answer.headers[header]], [415, types], what)
    }
    const { headers } = await app.inject({ method: 'OPTIONS', url })
    if (header !== 'accept') t.equal(headers[header], types, what)
  }
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const put = await app.inject({ method: 'PUT', url: `${home}/${id}/hold`, headers, payload: 'reason=a' })
  t.strictSame(
    [put.statusCode, put.json().detail, put.headers.accept],
    [415, 'A form cannot be sent here; send application/json', 'application/json']
  )
  const { headers: said } = await app.inject({ method: 'OPTIONS', url: '/query/deals/1' })
  t.notOk('accept-post' in said || 'accept-patch' in said)
})
