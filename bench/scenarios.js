// What is measured. Each scenario makes the n-th request; the same for every server.
export const customers = 100_000
export const deals = 200

const json = { 'content-type': 'application/json' }

export const scenarios = [
  {
    name: 'page of 50 by key, two filters',
    request: n => ({
      method: 'GET',
      path: `/customers?min-age=30&max-age=60&gt=${(n * 997) % (customers - 2000)}&maxpagesize=50`
    })
  },
  {
    name: 'page=1000',
    request: () => ({ method: 'GET', path: '/customers?page=1000' })
  },
  {
    name: 'one by id',
    request: n => ({ method: 'GET', path: `/customers/${1 + ((n * 997) % customers)}` })
  },
  {
    name: 'operation, durable commit',
    // Every request changes the price, so that none is the one that changes nothing.
    request: (n, ids) => ({
      method: 'PUT',
      path: `/rest/v1/deals/${ids[n % ids.length]}/change-price`,
      headers: json,
      body: JSON.stringify({ newPrice: n + 1, reason: 'bench' })
    })
  }
]
