// The scenarios: each makes the n-th request, the same for every contender with our URLs. Its argument is the first
// message of the server: how many customers it has, the ids of deals, and its logs.

/** The customer with this id in every contender. */
export function customerOf (id) {
  return { id, age: 18 + id * 37 % 73, children: id * 13 % 5 }
}

/** The customer before the n-th page; more than fifty after it match. */
export const startOf = (n, { customers }) => (n * 997) % (customers - 200)
export const customerIdOf = (n, { customers }) => 1 + (n * 997) % customers
// Every request changes the price, so that none is a no-op.
export const priceOf = n => n + 1

export const scenarios = {
  page: {
    title: 'page of 50 by key, two ranges',
    request: (n, server) => ({ path: `/customers?min-age=30&max-age=60&gt=${startOf(n, server)}&maxpagesize=50` })
  },
  numbered: {
    // The middle, which is page=1000 of 100,000.
    title: 'page=1000',
    request: (_n, { customers }) => ({ path: `/customers?page=${customers / 100}` })
  },
  one: {
    title: 'one by id',
    request: (n, server) => ({ path: `/customers/${customerIdOf(n, server)}` })
  },
  operation: {
    title: 'operation, durable',
    writes: true,
    request: (n, { ids }) => ({
      method: 'PUT',
      path: `/rest/v1/deals/${ids[n % ids.length]}/change-price`,
      body: { newPrice: priceOf(n), reason: 'bench' }
    })
  }
}

/** Pages of other orders than that of the id, by their cursors in the middle. */
export const orderScenarios = {
  newest: { title: 'deals, newest first, by cursor', request: (_n, { newest }) => ({ path: newest }) },
  sorted: { title: 'customers, sort=-age, by cursor', request: (_n, { sorted }) => ({ path: sorted }) }
}

/** Requests to one deal with a log of some length. */
export const logScenarios = {
  logFirst: { title: 'log, first page', request: (_n, { log }) => ({ path: log.first }) },
  logMiddle: { title: 'log, page by its cursor in the middle', request: (_n, { log }) => ({ path: log.middle }) },
  logOperation: { title: 'operation on that deal', request: scenarios.operation.request }
}
