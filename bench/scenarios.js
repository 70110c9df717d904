// What is measured: each scenario makes the n-th request, the same for every contender that speaks our URLs.
export const customers = 100_000
// More than there are connections, so that nobody waits for another who changes the same deal.
export const deals = 1000

/** The customer that every contender has under this id. */
export function customerOf (id) {
  return { id, age: 18 + id * 37 % 73, children: id * 13 % 5 }
}

/** The customers that the n-th page of the first scenario lies behind. */
export const startOf = n => (n * 997) % (customers - 2000)
export const customerIdOf = n => 1 + (n * 997) % customers
// Every request changes the price, so that none is the one that changes nothing.
export const priceOf = n => n + 1

export const scenarios = {
  page: {
    title: 'page of 50 by key, two ranges',
    request: n => ({ path: `/customers?min-age=30&max-age=60&gt=${startOf(n)}&maxpagesize=50` })
  },
  numbered: {
    title: 'page=1000',
    request: () => ({ path: '/customers?page=1000' })
  },
  one: {
    title: 'one by id',
    request: n => ({ path: `/customers/${customerIdOf(n)}` })
  },
  operation: {
    title: 'operation, durable',
    writes: true,
    request: (n, ids) => ({
      method: 'PUT',
      path: `/rest/v1/deals/${ids[n % ids.length]}/change-price`,
      body: { newPrice: priceOf(n), reason: 'bench' }
    })
  }
}
