// Drives a server by what openapi-typescript made of its document: the compiler checks every address and member.
import createClient from 'openapi-fetch'
import type { components, paths } from './schema.js'

type OldDeal = components['schemas']['dealbook.Deal']
type Deal = components['schemas']['crm.v2.Deal']

const open: OldDeal['status'] & Deal['status'] = 'open'
const client = createClient<paths>({ baseUrl: process.argv[2] as string })
const steps: unknown[] = []

const created = await client.POST('/crm/rest/v2/deals', { body: { name: 'Tea', price: 100, region: 'north' } })
if (created.data === undefined) throw new Error(created.error.detail)
const { id }: Deal = created.data
steps.push(
  created.response.status,
  created.data.status === open,
  created.data.links.self === created.response.headers.get('location')
)

const held = await client.PUT('/crm/rest/v2/deals/{id}/hold', { params: { path: { id } }, body: { reason: 'Papers' } })
steps.push(held.data?.held, held.data?.holdReason)

const refused = await client.PUT('/crm/rest/v2/deals/{id}/approve', { params: { path: { id } }, body: { by: 'Ann' } })
steps.push(refused.response.status, refused.error?.title)

const command = { params: { path: { id, command: 'let-go' } }, body: { action: 'UnholdDeal' } } as const
const first = await client.PUT('/crm/rest/v2/deals/{id}/commands/{command}', command)
const again = await client.PUT('/crm/rest/v2/deals/{id}/commands/{command}', command)
steps.push(
  first.response.status,
  again.response.status,
  again.response.headers.get('idempotent-replayed'),
  first.data?.revision
)

const page = await client.GET('/crm/rest/v2/deals', {
  params: { query: { region: ['north', 'south'], 'min-price': 50, status: open, sort: '-price', count: 'exact' } }
})
steps.push(page.data?.items.map(deal => deal.region), page.data?.total, page.data?.links.next === undefined)

const invoice = await client.POST('/crm/rest/v1/invoices', { body: { customer: 7, total: 5 } })
const paid = await client.PUT('/crm/rest/v1/invoices/{id}/pay', {
  params: { path: { id: invoice.data?.id as number } },
  body: { on: '2026-03-31' }
})
steps.push(paid.data?.paid, paid.data?.paidOn)

const renamed = await client.PATCH('/crm/rest/v2/deals/{id}', { params: { path: { id } }, body: { name: 'Green tea' } })
steps.push(renamed.data?.name)

const home = await client.GET('/crm')
steps.push(home.data?.families.length, home.data?.families[0]?.links.list)
const ann = await client.POST('/crm/people', { body: { name: 'Ann' } })
const customer = ann.data?.id as number
const bill = await client.POST('/crm/bills', { body: { customer } })
const isId: boolean = bill.data?.customer === customer
const bills = await client.GET('/crm/bills', { params: { query: { expand: 'customer' } } })
for (const { customer } of bills.data?.items ?? []) {
  steps.push(isId, typeof customer === 'number' ? customer : customer.name)
}
const taken = await client.POST('/crm/people', { body: { name: 'Ann' } })
steps.push(taken.error?.type === 'urn:dealbook:problem:taken')

// @ts-expect-error the reason is missing
const faulty = await client.PUT('/crm/rest/v2/deals/{id}/hold', { params: { path: { id } } })
steps.push(faulty.response.status, faulty.error?.errors?.[0]?.pointer)
const gone = await client.DELETE('/crm/rest/v2/deals/{id}', { params: { path: { id } } })
steps.push(gone.response.status)

const completed = await client.PUT('/crm/rest/v2/deals/{id}/complete', { params: { path: { id } }, body: {} })
const problem: components['schemas']['dealbook.Problem'] | undefined = completed.error
steps.push(problem?.status)

console.log(JSON.stringify(steps))
