// The same requests in the URLs of each contender, and how to read its responses.
import { customerIdOf, logScenarios, orderScenarios, priceOf, scenarios, startOf } from './scenarios.js'

const dialects = {
  platformatic: {
    requests: {
      page: (n, server) => ({
        path: `/customers/?where.age.gte=30&where.age.lte=60&where.id.gt=${startOf(n, server)}&orderby.id=asc&limit=50`
      }),
      numbered: () => ({ path: '/customers/?orderby.id=asc&limit=50&offset=49950' }),
      one: (n, server) => ({ path: `/customers/${customerIdOf(n, server)}` }),
      operation: (n, { ids }) => ({
        method: 'PUT',
        path: `/deals/${ids[n % ids.length]}`,
        body: { name: 'a deal', price: priceOf(n), held: 0, status: 'open', revision: 1 }
      })
    },
    items: answer => answer
  },
  feathers: {
    requests: {
      page: (n, server) => ({
        path: `/customers?age[$gte]=30&age[$lte]=60&id[$gt]=${startOf(n, server)}&$sort[id]=1&$limit=50`
      }),
      numbered: () => ({ path: '/customers?$sort[id]=1&$limit=50&$skip=49950' }),
      one: (n, server) => ({ path: `/customers/${customerIdOf(n, server)}` }),
      operation: (n, { ids }) => ({
        method: 'PUT',
        path: `/price-changes/${ids[n % ids.length]}`,
        body: { newPrice: priceOf(n), reason: 'bench' }
      })
    },
    items: answer => answer.data
  }
}

/** Of a name such as ours-sqlite@other, the function that makes the n-th request. */
export function requestOf (contender, scenario) {
  const all = { ...scenarios, ...orderScenarios, ...logScenarios }
  return dialects[contender]?.requests[scenario] ?? all[scenario].request
}

/** The customers in an answer to a page. */
export function itemsOf (contender, answer) {
  return dialects[contender]?.items(answer) ?? answer.items
}
