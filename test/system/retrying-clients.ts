import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'

const writers = 6

/** A command of a client that never gives up: what it has no answer for, it sends again, under the same id. */
interface SentCommand {
  readonly id: string
  readonly body: string
  /** The revision that the answer said. */
  answered?: number
}

/** Writes until told to stop, and keeps what it was told. */
export class Client {
  readonly sent: SentCommand[] = []
  #running = true
  #price = 0

  constructor (readonly deal: string) {}

  async write (url: string): Promise<void> {
    this.#running = true
    const open = this.sent.filter(({ answered }) => answered === undefined)
    while (this.#running) {
      const next = open.shift() ?? this.#another()
      const revision = await put(url, next)
      // Not known whether it was done: it is asked again, after the crash.
      if (revision === undefined) return
      next.answered = revision
    }
  }

  stop (): void {
    this.#running = false
  }

  #another (): SentCommand {
    // Every price is another one, so that each command changes something.
    const command = {
      id: randomUUID(),
      body: JSON.stringify({
        deal: this.deal,
        action: 'ChangeDealPrice',
        params: { newPrice: ++this.#price, reason: 'a crash' }
      })
    }
    this.sent.push(command)
    return command
  }
}

async function put (url: string, { id, body }: SentCommand): Promise<number | undefined> {
  try {
    const answer = await fetch(`${url}/rest/commands/${id}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body
    })
    if (answer.status === 503) return undefined
    if (!answer.ok) throw new TypeError(`${answer.status} ${await answer.text()}`)
    return (await answer.json() as { revision: number }).revision
  } catch (error) {
    // Only a connection that broke is no answer.
    if (error instanceof TypeError && error.message === 'fetch failed') return undefined
    if (error instanceof TypeError && error.message === 'terminated') return undefined
    throw error
  }
}

export async function newDeals (url: string): Promise<Client[]> {
  return await Promise.all(Array.from({ length: writers }, async () => {
    const answer = await fetch(`${url}/rest/v1/deals`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"name":"a deal","price":0}'
    })
    return new Client((await answer.json() as { id: string }).id)
  }))
}

/** Waits until every client was answered twice more, and then a little, to hit another moment each time. */
export async function underLoad (clients: readonly Client[]): Promise<void> {
  const answers = ({ sent }: Client) => sent.filter(({ answered }) => answered !== undefined).length
  const before = clients.map(answers)
  while (clients.some((client, index) => answers(client) < (before[index] as number) + 2)) await delay(5)
  await delay(Math.random() * 100)
}

/** Nothing that was acknowledged is missing, nothing was done twice, and every revision is a change in the log. */
export async function check (t: Test, url: string, clients: readonly Client[]): Promise<void> {
  for (const { deal, sent } of clients) {
    const { revision } = await (await fetch(`${url}/rest/v1/deals/${deal}`)).json() as { revision: number }
    const lines = (await (await fetch(`${url}/rest/v1/deals/${deal}/commands.ndjson`)).text()).trim().split('\n')
    const log = lines.map(line => JSON.parse(line) as { id: string, revision: number, outcome: string })
    t.strictSame(
      log.map(entry => entry.revision),
      Array.from({ length: revision }, (_, index) => index + 1),
      'every revision is one change in the log'
    )
    t.ok(log.every(({ outcome }) => outcome === 'done'))
    const logged = new Map(log.map(entry => [entry.id, entry.revision]))
    t.equal(logged.size, log.length, 'nothing is there twice')
    t.strictSame(
      sent.map(({ id }) => logged.get(id)),
      sent.map(({ answered }) => answered),
      'all that was acknowledged is there, as it was acknowledged'
    )
    t.equal(log.length, sent.length + 1, 'and nothing else but the creation')
  }
}

/** Sends again what has no answer until it has one, however long the server takes to come back. */
export async function untilAnswered (url: string, clients: readonly Client[]): Promise<void> {
  for (const client of clients) {
    for (const command of client.sent.filter(({ answered }) => answered === undefined)) {
      while (command.answered === undefined) {
        const revision = await put(url, command)
        if (revision === undefined) await delay(100)
        else command.answered = revision
      }
    }
  }
}
