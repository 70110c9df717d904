import Fastify from 'fastify'
import t from 'tap'
import { dealbook } from '../../lib/index.js'
import { people, storageOf } from '../customers-app.js'

t.test('behind a proxy that strips a path, every address has it and leads back', async t => {
  for (const publicUrl of ['https://example.org/api', 'https://example.org/api/']) {
    const app = Fastify()
    t.teardown(() => app.close())
    app.register(dealbook, { storage: await storageOf(people(120)), version: 'v1', prefix: '/crm', publicUrl })
    const made = await app.inject({ method: 'POST', url: '/crm/rest/v1/deals', payload: { name: 'a', price: 1 } })
    const { pathname } = new URL(made.headers.location as string)
    t.match(pathname, /^\/api\/crm\/rest\/v1\/deals\/[\w-]+$/)

    const deal = pathname.slice('/api'.length)
    let links = 0
    for (const url of ['/crm/customers?maxpagesize=5&page=2', '/crm/rest/v1/deals', deal, `${deal}/commands`]) {
      for (const accept of ['application/json', 'text/html', 'application/xml']) {
        const { statusCode, body, headers } = await app.inject({ url, headers: { accept } })
        t.equal(statusCode, 200)
        const found = [...`${body} ${headers.link ?? ''}`.matchAll(/(?:href="|action="|"|<|>)((?:https?:\/)?\/[^"<>\s]+)/g)]
          .map(([, link]) => (link as string).replaceAll('&amp;', '&'))
          .filter(link => /crm/.test(link))
        for (const link of found) {
          links++
          t.match(link, /^https:\/\/example\.org\/api\/crm\//, `${url} as ${accept}`)
          const back = await app.inject(link.replace('https://example.org/api', ''))
          t.not(back.statusCode, 404, link)
        }
      }
    }
    t.ok(links > 20, `${links} links`)
  }
})
