// Your own representation, HAL, in ten lines: node build/examples/own-representation.js
import Fastify from 'fastify'
import type { Members, Representation, Storage } from 'fastify-dealbook'
import { customers, memoryStorage, representations } from 'fastify-dealbook'

const linksOf = (links: unknown) =>
  Object.fromEntries(Object.entries(links ?? {}).map(([rel, href]) => [rel, { href: String(href) }]))

export const hal: Representation = {
  name: 'hal',
  extension: 'hal',
  mediaTypes: ['application/hal+json'],
  one: ({ document: { links, ...members } }) => JSON.stringify({ ...members, _links: linksOf(links) }),
  page ({ name, items, document }) {
    // A bare list, such as that of /query/…, has no other members.
    const around = Array.isArray(document) ? {} : document as Members
    const { links, items: _, ...members } = around
    return JSON.stringify({ ...members, _links: linksOf(links), _embedded: { [name]: items } })
  }
}

/** An application that offers it: by Accept, `?format=hal` and the suffix `.hal`. */
export function buildApp (storage: Storage = memoryStorage()) {
  const app = Fastify()
  app.register(customers, { storage, representations: [...representations, hal] })
  return app
}

if (import.meta.filename === process.argv[1]) {
  const app = buildApp()
  console.log(`${await app.listen({ port: Number(process.env.PORT ?? 3000) })}/customers.hal`)
}
