import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import Fastify from 'fastify'
import type t from 'tap'
import type { FamilyOptions, Storage } from '../../lib/index.js'
import { deals } from '../../lib/index.js'

/** Where the deals of the tests live. */
export const home = '/rest/v1/deals'

export interface Item {
  readonly id: string
  readonly revision: number
  readonly [member: string]: unknown
}

export interface Entry {
  readonly id: string
  readonly action: string
  /** Of what changed something. */
  readonly params?: Readonly<Record<string, unknown>>
  readonly outcome: string
  readonly revision: number
  readonly createdAt: string
  readonly [member: string]: unknown
}

/** An application with deals of version v1 on this storage. */
export async function dealsApp (storage: Storage, options: Partial<FamilyOptions> = {}): Promise<FastifyInstance> {
  const app = Fastify()
  app.register(deals, { storage, version: 'v1', ...options })
  await app.ready()
  return app
}

export async function createDeal (app: FastifyInstance, members: object = {}): Promise<Item> {
  const answer = await app.inject({
    method: 'POST',
    url: `${home}/`,
    payload: { name: 'Ten tons of tea', price: 100, ...members }
  })
  if (answer.statusCode !== 201) throw new Error(answer.body)
  const { links, ...deal } = answer.json<Item & { links: unknown }>()
  return deal
}

export async function readDeal (app: FastifyInstance, id: string): Promise<Item> {
  const { links, ...deal } = (await app.inject(`${home}/${id}`)).json<Item & { links: unknown }>()
  return deal
}

/** The whole log, as its first page shows it. */
export async function readLog (app: FastifyInstance, id: string): Promise<Entry[]> {
  return (await app.inject(`${home}/${id}/commands?maxpagesize=1000`)).json<{ items: Entry[] }>().items
}

/** The deal without what depends on the clock. */
export function withoutTimes ({ updatedAt, createdAt, id, ...deal }: Item): object {
  return deal
}

/** All that a refused request must leave as it was. */
export async function snapshot (app: FastifyInstance, id: string): Promise<object> {
  const { total } = (await app.inject(`${home}?count=exact&maxpagesize=1`)).json<{ total: number }>()
  return { deal: await readDeal(app, id), log: await readLog(app, id), total }
}

/** What helpers need of a test. */
export type Checks = Pick<typeof t, 'equal' | 'not' | 'strictSame' | 'match' | 'ok'>

export type TestRequest = InjectOptions
export type TestResponse = LightMyRequestResponse
