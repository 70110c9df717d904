import type { Got, Sent } from './requests.js'

/** A difference between two builds that is on purpose. */
interface Meant {
  readonly reason: string
  holds (sent: Sent, before: Got, after: Got): boolean
}

const isPage = ({ headers }: Got): boolean => String(headers['content-type']).startsWith('text/html')
const hasKey = ({ headers }: Sent): boolean => headers['idempotency-key'] !== undefined
const isForm = ({ headers }: Sent): boolean => String(headers['content-type']).includes('urlencoded')
const validators = ['etag', 'last-modified', 'cache-control']
const withoutTags = ({ headers, ...got }: Got): string =>
  JSON.stringify([got, Object.entries(headers).filter(([name]) => !validators.includes(name)).sort()])

// Compared with 31938664.
const meant: readonly Meant[] = [
  {
    reason: 'pages were changed',
    holds: (_sent, before, after) => isPage(before) && isPage(after) && before.status === after.status
  },
  {
    reason: 'operations and entries have a tag of their content, which begins with the revision',
    holds: ({ url }, before, after) => /\/(operations|\w+\/[\w.-]+)(\.|\?|$)/.test(url) &&
      (after.status === 304 || withoutTags(before) === withoutTags(after))
  },
  {
    reason: 'a malformed Idempotency-Key is refused first',
    holds: (sent, before, after) => hasKey(sent) && before.status < 500 && after.body.includes('Idempotency-Key must')
  },
  {
    reason: 'the rule for ids names those that are reserved',
    holds: (_sent, before, after) => before.status === 400 && after.body.includes('or commands, also with a suffix')
  }
]

// What they store differs from then on, so that later answers could not be compared.
const unsent: readonly { readonly reason: string, holds (sent: Sent): boolean }[] = [
  {
    reason: 'every write in every form honours the Idempotency-Key',
    holds: sent => hasKey(sent) && ['PUT', 'PATCH', 'DELETE'].includes(sent.method)
  },
  {
    reason: 'forms of pages: several commands have an address, an emptied default is empty, amounts have a language',
    holds: sent => isForm(sent) && String(sent.payload).includes('_key=')
  }
]

/** The reason why two answers may differ; undefined if they may not. */
export function findMeant (sent: Sent, before: Got, after: Got): string | undefined {
  return meant.find(({ holds }) => holds(sent, before, after))?.reason
}

/** The reason why a request is not sent; undefined if it is. */
export function findUnsent (sent: Sent): string | undefined {
  return unsent.find(({ holds }) => holds(sent))?.reason
}
