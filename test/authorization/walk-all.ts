import type { FastifyInstance } from 'fastify'
import { memoryStorage, type Storage } from '../../lib/index.js'
import { Random } from '../simulation/random.js'
import { Checker, type Role } from './checker.js'
import { crawl } from './crawl.js'
import { startHidden, startShown } from './hidden-app.js'
import { walkNames } from './hidden-words.js'
import {
  accepts, addresses, formats, listQueries, prepare, walkEvents, walkPast, walkReads, walkService, walkTools,
  walkWaiting, walkWrites
} from './walks.js'

interface Walked {
  readonly storage: Storage
  /** Where the application listens. */
  readonly base: string
  /** Whose goods have never had what is hidden. */
  readonly shown: FastifyInstance
  /** Of requests by chance. */
  readonly count: number
}

type Walk = (checker: Checker, walked: Walked) => Promise<void>

const walks = {
  names: async (checker, { shown }) => {
    if (checker.role !== 'boss' && checker.isThorough) await walkNames(checker, shown)
  },
  events: (checker, { base }) => walkEvents(checker, base),
  writes: walkWrites,
  past: walkPast,
  tools: walkTools,
  service: (checker, { storage }) => walkService(checker, storage),
  reads: walkReads,
  waiting: walkWaiting,
  chance: (checker, { count }) => walkByChance(checker, count),
  pages: walkPages
} satisfies Record<string, Walk>

export type WalkName = keyof typeof walks

interface WalkSettings {
  /** Requests by chance. */
  readonly count: number
  readonly isThorough: boolean
  /** Default: all. */
  readonly names?: readonly WalkName[]
}

/** Everything that a role may ask for. */
export async function walkAll (
  storage: Storage, role: Role, { count, isThorough, names = Object.keys(walks) as WalkName[] }: WalkSettings
): Promise<Checker> {
  const [app, shown] = [await startHidden(storage), await startShown(memoryStorage())]
  try {
    const boss = new Checker(app, 'boss')
    await prepare(boss)
    const base = await app.listen({ port: 0, host: '127.0.0.1' })
    const checker = new Checker(app, role, '/shop', isThorough)
    checker.flaws.push(...boss.flaws)
    for (const name of names) await walks[name](checker, { storage, base, shown, count })
    return checker
  } finally {
    await Promise.all([app.close(), shown.close()])
  }
}

/** The pages that people find, from the first one on. */
async function walkPages (checker: Checker): Promise<void> {
  const { pages, forms } = await crawl(checker, '/shop/', checker.isThorough ? 120 : 40)
  checker.expect(pages >= 40 && forms >= 10, true, `${pages} pages and ${forms} forms`)
}

const values = [
  'x', 5, null, 'tea', '2020-03-05', ['x'], { open: 'a' }, { days: 1 }, [{ product: 'a', quantity: 1 }], ''
]
// Not such as have their values in their schemas, of which bodies are told before anyone is authorized.
const members = [
  'name', 'cost', 'code', 'maker', 'weight', 'since', 'status', 'terms', 'lines', 'more', 'to', 'comment',
  'why', 'id', 'zzzz', 'action', 'revision'
]
const actions = ['edit', 'finish', 'weigh', 'price', 'recode', 'reprice', 'revert', 'restore', 'ship', 'zzzz']

/** Reads, and commands that are mostly refused. */
async function walkByChance (checker: Checker, count: number): Promise<void> {
  const random = new Random(count, checker.role)
  const choose = <T>(list: readonly T[]): T => random.pick(list)
  for (let made = 0; made < count; made++) {
    const accept = choose(accepts)
    const url = `/shop${choose(addresses)}`
    if (random.chance(0.6)) {
      const parts = [choose(listQueries), choose(listQueries), `format=${choose(formats)}`].slice(random.int(3))
      const search = parts.join('&')
      const asked = `${url}${url.includes('?') ? '&' : '?'}${search}`
      const method = choose(['GET', 'GET', 'HEAD', 'QUERY'])
      const payload = method === 'QUERY' && { payload: search, headers: { 'content-type': form, accept } }
      await checker.ask({ method: method as 'GET', url: asked, headers: { accept }, ...payload })
      continue
    }
    const sent = Object.fromEntries(Array.from({ length: random.int(4) }, () => [choose(members), choose(values)]))
    const item = choose(['/goods/1', '/goods/2', '/goods/3', '/goods/8', '/orders/1'])
    const target = `/shop${item}${choose(['', `/${choose(actions)}`])}`
    const action = `${choose(['Edit', 'Reprice', 'Revert', 'Recode'])}Good`
    const payload = random.chance(0.2) ? { action, params: sent } : sent
    await checker.ask({ method: choose(['PUT', 'PATCH', 'POST']), url: target, headers: { accept }, payload })
  }
}

const form = 'application/x-www-form-urlencoded'
