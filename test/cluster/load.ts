// Clients that keep a ledger, followers, a consumer and a webhook, on two processes that share a database.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { readEvents } from '../feed/events.js'
import { logs } from './nodes.js'
import type { Report } from './server.js'

const clients = 4
// Milliseconds between two commands of a client, and before a retry.
const pause = 250
// A request that takes longer hangs.
const patience = 60_000

/** What a client sent, and what it was told. */
export interface Sent {
  readonly key: string
  /** The counter that it adds to; undefined for a new ticket. */
  readonly counter: string | undefined
  readonly amount: number
  answer?: { readonly isReplayed: boolean, readonly revision: number, readonly ticket: number }
}

export interface Entry {
  readonly id: string
  readonly action: string
  readonly revision: number
  readonly counter?: string
}

/** When something last happened, and the longest time in which nothing did. */
export class Pulse {
  last = performance.now()
  #longest = 0

  begin (): void {
    this.last = performance.now()
    this.#longest = 0
  }

  beat (): void {
    const now = performance.now()
    this.#longest = Math.max(this.#longest, now - this.last)
    this.last = now
  }

  /** Milliseconds. */
  get longest (): number { return this.#longest }
  get since (): number { return performance.now() - this.last }
}

/** The ids of entries, as they come. */
export class Seen {
  ids: string[] = []
  readonly pulse = new Pulse()

  add (id: string): void {
    this.ids.push(id)
    this.pulse.beat()
  }
}

class Process {
  #child: ChildProcess | undefined
  #cursor: string | undefined
  readonly followed = new Seen()

  constructor (
    readonly name: string, readonly url: string, readonly env: Record<string, string>, readonly consumed: Seen
  ) {}

  /** Again and again, as a supervisor does: without a database, it does not start. */
  async restart (): Promise<void> {
    while (!await this.start().then(() => true, () => false)) await delay(pause)
  }

  async start (): Promise<void> {
    const log = openSync(join(logs, `${this.name}.log`), 'a')
    const after = this.#cursor === undefined ? {} : { AFTER: this.#cursor }
    const child = this.#child = fork(join(import.meta.dirname, 'server.js'), {
      stdio: ['ignore', log, log, 'ipc'],
      env: { ...process.env, ...this.env, ...after, PORT: new URL(this.url).port }
    })
    await new Promise<void>((resolve, reject) => {
      child.once('exit', code => { reject(new Error(`${this.name} ended with ${code}`)) })
      child.on('message', ({ listening, followed, consumed }: Report) => {
        if (listening === true) resolve()
        if (consumed !== undefined) this.consumed.add(consumed)
        if (followed === undefined) return
        this.#cursor = followed.cursor
        this.followed.add(followed.id)
      })
    })
  }

  /** Returns how many milliseconds it took, and whether it ended well. */
  async stop (): Promise<{ readonly took: number, readonly code: number | null }> {
    const began = performance.now()
    const child = this.#child as ChildProcess
    child.kill('SIGTERM')
    const [code] = await once(child, 'exit') as [number | null]
    return { took: performance.now() - began, code }
  }
}

/** Whether it is an entry that all followers get. */
export const isCounted = ({ action }: Entry): boolean => !action.endsWith('Webhook')

export class Load {
  readonly sent: Sent[] = []
  readonly processes: readonly [Process, Process]
  readonly written = new Pulse()
  readonly consumed = new Seen()
  readonly delivered = new Seen()
  readonly streamed = new Seen()
  readonly polled = new Seen()
  /** Statuses and errors that no client should get. */
  wrong: string[] = []
  /** Ends of a stream whose server had not ended. */
  streamEnds = 0
  /** Milliseconds. */
  longestRequest = 0
  unavailable = 0
  #isRunning = false
  #running: Promise<unknown> = Promise.resolve()
  readonly #receiver: Server

  constructor (readonly name: string, storage: string, port: number) {
    const make = (n: number): Process =>
      new Process(`${name}-${n}`, `http://127.0.0.1:${port + n}`, { STORAGE: storage, SCHEMA: name }, this.consumed)
    this.processes = [make(0), make(1)]
    this.#receiver = createServer((request, response) => {
      let body = ''
      request.setEncoding('utf8').on('data', (part: string) => { body += part }).on('end', () => {
        this.delivered.add((JSON.parse(body) as { data: { command: string } }).data.command)
        response.writeHead(204).end()
      })
    })
  }

  get #urls (): string[] {
    return this.processes.map(({ url }) => url)
  }

  /** Those that get each entry once, in the order of the feed: of all families, or of the counters. */
  get followers (): readonly { readonly name: string, readonly seen: Seen, readonly ofCounters: boolean }[] {
    return [
      { name: 'the stream', seen: this.streamed, ofCounters: false },
      { name: 'the pages', seen: this.polled, ofCounters: false },
      ...this.processes.map(({ name, followed }) => ({ name, seen: followed, ofCounters: true }))
    ]
  }

  async start (): Promise<void> {
    for (const process of this.processes) await process.start()
    await new Promise<void>(resolve => { this.#receiver.listen(0, '127.0.0.1', resolve) })
    const url = `http://127.0.0.1:${(this.#receiver.address() as AddressInfo).port}/`
    const { cursor } = await this.readLog()
    await this.#post('/webhooks', { url })
    for (const id of ['shared', ...Array.from({ length: clients }, (_, n) => `own-${n}`)]) {
      await this.#post('/counters', { id })
    }
    this.#stream(cursor)
    this.#poll(cursor)
  }

  async #post (path: string, body: object): Promise<void> {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${this.#urls[0]}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    if (response.status !== 201) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  }

  begin (): void {
    this.#isRunning = true
    this.#running = Promise.all(Array.from({ length: clients }, (_, n) => this.#write(n)))
  }

  /** From here on, what is measured counts. */
  measure (): void {
    for (const pulse of this.pulses) pulse.begin()
    Object.assign(this, { wrong: [], streamEnds: 0, longestRequest: 0, unavailable: 0 })
  }

  get pulses (): Pulse[] {
    const seen = [...this.followers.map(({ seen }) => seen), this.consumed, this.delivered]
    return [this.written, ...seen.map(({ pulse }) => pulse)]
  }

  /** Until every command has an answer. */
  async finish (): Promise<void> {
    this.#isRunning = false
    await this.#running
  }

  async #write (client: number): Promise<void> {
    for (let n = client; this.#isRunning; n++) {
      const counter = [`own-${client}`, 'shared', undefined][n % 3]
      const sent: Sent = { key: `${client}-${this.sent.length}`, counter, amount: 1 + n % 7 }
      this.sent.push(sent)
      // A retry goes to the other process.
      for (let attempt = n; sent.answer === undefined; attempt++) {
        await this.#send(sent, this.#urls[attempt % 2] as string)
        await delay(pause)
      }
    }
  }

  async #send (sent: Sent, url: string): Promise<void> {
    const { key, counter, amount } = sent
    const headers = { 'content-type': 'application/json', ...counter === undefined && { 'idempotency-key': key } }
    const [method, path, body] = counter === undefined
      ? ['POST', '/tickets', { title: key }]
      : ['PUT', `/rest/commands/${key}`, { counter, action: 'AddToCounter', params: { amount } }]
    const began = performance.now()
    try {
      const signal = AbortSignal.timeout(patience)
      const response = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body), signal })
      const text = await response.text()
      if (response.status === 503) this.unavailable++
      else if (response.status !== 200 && response.status !== 201) this.wrong.push(`${response.status} ${text}`)
      else {
        const { revision, id } = JSON.parse(text) as { revision: number, id: number }
        sent.answer = { isReplayed: response.headers.get('idempotent-replayed') === 'true', revision, ticket: id }
        this.written.beat()
      }
    } catch (error) {
      // The process was stopped.
      if ((error as Error).message !== 'fetch failed') this.wrong.push(String(error))
    }
    this.longestRequest = Math.max(this.longestRequest, performance.now() - began)
  }

  /** As an `EventSource` does, which gives up at any status but 200. */
  async #stream (cursor: string): Promise<void> {
    for (;;) {
      try {
        const stream = await readEvents(`${this.#urls[1]}/rest/commands`, { 'last-event-id': cursor })
        if (stream.contentType?.startsWith('text/event-stream') !== true) this.wrong.push('a stream was refused')
        for (;;) {
          const next = await Promise.race([stream.take(1), stream.ended])
          if (next === undefined) break
          for (const { id, data } of next) {
            cursor = id
            if (isCounted(data as unknown as Entry)) this.streamed.add(String(data['id']))
          }
        }
        this.streamEnds++
      } catch {
        // The process is being started.
      }
      await delay(pause)
    }
  }

  async #poll (cursor: string): Promise<void> {
    for (let n = 0; ; n++) {
      try {
        const url = `${this.#urls[n % 2]}/rest/commands?after=${cursor}`
        const response = await fetch(url, { headers: { prefer: 'wait=20' }, signal: AbortSignal.timeout(patience) })
        if (response.status === 200) {
          const page = await response.json() as Page
          cursor = findCursor(page)
          for (const entry of page.items) if (isCounted(entry)) this.polled.add(entry.id)
          continue
        }
        if (response.status !== 503) this.wrong.push(`a page of the feed: ${response.status}`)
      } catch (error) {
        if ((error as Error).message !== 'fetch failed') this.wrong.push(String(error))
      }
      await delay(pause)
    }
  }

  /** The entries after a cursor, and the next cursor. */
  async readLog (after?: string): Promise<{ readonly log: Entry[], readonly cursor: string }> {
    const log: Entry[] = []
    for (let cursor = after; ;) {
      const page = await this.get<Page>(`/rest/commands${cursor === undefined ? '' : `?after=${cursor}`}`)
      cursor = findCursor(page)
      if (page.items.length === 0) return { log: log.filter(isCounted), cursor }
      log.push(...page.items)
    }
  }

  async get<T> (path: string): Promise<T> {
    const response = await fetch(`${this.#urls[0]}${path}`)
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return await response.json() as T
  }
}

interface Page {
  readonly items: readonly Entry[]
  readonly links: { readonly follow: string }
}

function findCursor ({ links: { follow } }: Page): string {
  return new URL(follow, 'http://localhost').searchParams.get('after') as string
}
