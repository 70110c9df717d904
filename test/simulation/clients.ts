import { type Id, type Members, Problem } from '../../lib/index.js'
import type { Host, Result } from './host.js'
import type { Intention, Judge, Told } from './judge.js'
import { nameNote } from './model.js'
import type { Options } from './options.js'
import type { Random } from './random.js'
import { type Answer, getItem, list, runAll, runCommand, sendRequest, toTold, walk } from './requests.js'
import type { World } from './world.js'

/** The processes that there are at a moment. */
export interface Cluster {
  readonly world: World
  readonly judge: Judge
  readonly options: Options
  pick (random: Random, isNext?: boolean): Host | undefined
}

type Family = 'accounts' | 'tickets'

function readId (family: Family, target: string): Id {
  return family === 'accounts' ? Number(target) : target
}

const principals = ['red-ann', 'red-bob', 'blue-cid', 'admin-eve']
const ticketOperations = ['create', 'create', 'finish', 'remove']
const accountOperations =
  ['create', 'create', 'deposit', 'deposit', 'transfer', 'transfer', 'close', 'reopen', 'edit', 'promote', 'remove']
const actions: Readonly<Record<string, string>> = {
  deposit: 'DepositMoney',
  transfer: 'TransferMoney',
  close: 'CloseAccount',
  reopen: 'ReopenAccount',
  promote: 'PromoteAccount',
  edit: 'EditAccount',
  finish: 'FinishTicket'
}

/** Since when a command may be committed, and until when: some of its calls may go on after it was answered. */
interface Sending {
  readonly since: number
  isOver: boolean
  open: number
  /** What a dropped process has sent may arrive until then. */
  lostUntil: number
}

/** A client with one command after the other, each of which it repeats until it is answered. */
export class Client {
  #marks = 0
  #sendings: Sending[] = []
  /** Of the last response to a write: the header, and what reads with it must have, in commits. */
  #seen: { readonly token: string | undefined, readonly since: number, readonly item?: readonly [Family, Id] } =
    { token: undefined, since: 0 }

  constructor (readonly cluster: Cluster, readonly random: Random, readonly name: string) {}

  /** Before this moment, no command of it began that may still be repeated or committed. */
  get horizon (): number {
    const { world } = this.cluster
    this.#sendings = this.#sendings.filter(({ isOver, open, lostUntil }) =>
      !isOver || open > 0 || world.now <= lostUntil)
    return this.#sendings[0]?.since ?? world.now
  }

  async run (): Promise<void> {
    const { world, options: { commands } } = this.cluster
    for (let count = 0; count < commands; count++) {
      await world.sleep(this.random.between(1, 200))
      await this.#act()
    }
  }

  async #act (): Promise<void> {
    const { random, cluster: { options } } = this
    const principal = random.pick(principals)
    if (random.chance(options.reads)) return await this.#read(principal)
    const end = this.begin()
    await (random.chance(options.many) ? this.#runMany(principal) : this.#perform(this.#intend(principal)))
    end()
  }

  /** A command, which may be sent several times until the returned function is called. */
  begin (): () => void {
    const { now } = this.cluster.world
    const sending = { since: now, isOver: false, open: 0, lostUntil: 0 }
    this.#sendings.push(sending)
    return () => { sending.isOver = true }
  }

  /** Calls a process. The answer may be lost, and the work go on. */
  call<T> (work: (host: Host) => Promise<T>, told: (answer: Answer<T>) => void, isNext?: boolean): Promise<Answer<T>> {
    const { world, options: { latest } } = this.cluster
    const host = this.cluster.pick(this.random, isNext)
    const { random } = this
    if (host === undefined) return world.sleep(50).then(() => undefined)
    const sending = this.#sendings.at(-1)
    if (sending !== undefined) sending.open++
    return new Promise(resolve => {
      let isSettled = false
      const settle = (answer: Answer<T>): void => {
        if (isSettled) return
        isSettled = true
        host.open.delete(lose)
        world.cancel(timer)
        if (sending !== undefined) sending.open--
        if (answer !== undefined) told(answer)
        resolve(answer)
      }
      const lose = (): void => {
        if (sending !== undefined) sending.lostUntil = world.now + latest + 400
        world.after(random.between(1, 20), () => { settle(undefined) }, null)
      }
      host.open.add(lose)
      const deliver = (answer: Answer<T>): void => { world.after(random.between(0, 3), () => { settle(answer) }, host) }
      world.after(random.between(0, 3), () => {
        work(host).then(value => { deliver({ value }) }, (error: unknown) => { deliver(this.#explain(error)) })
      }, host)
      const patience = random.chance(this.cluster.options.impatience) ? random.between(5, 60) : 5000
      const timer = world.after(patience, () => { resolve(undefined) }, null)
    })
  }

  #explain (error: unknown): Answer<never> {
    if (!(error instanceof Problem)) {
      this.cluster.world.fail(`unexpected error: ${String((error as Error).stack ?? error)}`)
      return undefined
    }
    return error.statusCode >= 500 ? undefined : { code: error.code, detail: error.message }
  }

  #intend (principal: string): Intention {
    const { random, cluster: { judge: { journal } } } = this
    const mark = `${this.name}${++this.#marks}`
    const since = journal.commits
    const { creations, deletions } = this.cluster.options
    const given = random.chance(creations) ? 'create' : random.chance(deletions) ? 'remove' : undefined
    const isTicket = given === undefined && random.chance(0.25)
    const family = isTicket ? 'tickets' : 'accounts'
    const operation = given ?? random.pick(isTicket ? ticketOperations : accountOperations)
    const target = operation === 'create' ? undefined : this.#pickTarget(family)
    const singular = isTicket ? 'Ticket' : 'Account'
    const action = actions[operation] ?? (operation === 'create' ? `Create${singular}` : `Delete${singular}`)
    const identity = random.chance(0.2)
      ? {}
      : operation === 'create' || random.chance(0.4) ? { key: `key-${mark}` } : { command: `command-${mark}` }
    const revision = target !== undefined && random.chance(0.3) ? this.#recall(family, target) : undefined
    const params = this.#chooseParams(operation, isTicket, mark)
    return { family, operation, action, target, params, mark, principal, identity, revision, since }
  }

  #pickTarget (family: 'accounts' | 'tickets'): Id {
    const { random, cluster: { judge: { journal: { database } } } } = this
    const ids = database.list(family).map(({ id }) => id)
    if (ids.length > 0 && random.chance(0.95)) return random.chance(0.4) ? ids.at(-1) as Id : random.pick(ids)
    return family === 'accounts' ? random.between(1, 9) : `t${random.between(1, 6)}`
  }

  /** A revision that the client may have seen. */
  #recall (family: string, id: Id): number | undefined {
    const revision = this.cluster.judge.journal.database.peek(family, id)?.revision
    return revision === undefined ? undefined : Math.max(1, revision - (this.random.chance(0.2) ? 1 : 0))
  }

  #chooseParams (operation: string, isTicket: boolean, mark: string): Members {
    const { random } = this
    const pin = random.chance(0.3) ? { pin: `SECRET-${mark}` } : {}
    switch (operation) {
      case 'create':
        if (!isTicket) return { mark, ...pin }
        return {
          id: `t${random.between(1, 8)}`,
          mark,
          code: random.between(1, 6),
          ...(random.chance(0.5) ? { account: this.#pickTarget('accounts') } : {})
        }
      case 'deposit':
        return { amount: random.between(1, 50), mark, ...pin }
      case 'transfer':
        return { amount: random.between(1, 120), mark, to: this.#pickTarget('accounts') }
      case 'edit':
        return { note: nameNote(mark), ...pin }
      case 'remove':
        return {}
      default:
        return { mark }
    }
  }

  async #perform (intention: Intention): Promise<void> {
    const { random, cluster: { world, judge, options } } = this
    const { mark, action, target = 'new', principal, identity: { key, command } } = intention
    world.note(() => `${mark} ${action} ${target} by ${principal} ${key ?? command ?? 'without id'} ${
      intention.revision === undefined ? '' : `if r${intention.revision} `}${JSON.stringify(intention.params)}`)
    const isRepeatable = (key ?? command) !== undefined
    for (let attempt = 0; attempt < 8; attempt++) {
      // A deletion is no command with an id there.
      const isHttp = random.chance(options.http) && (command === undefined || intention.operation !== 'remove')
      const since = judge.journal.commits
      const answer = await this.call<Result | Told>(
        host => isHttp ? sendRequest(host, intention) : runCommand(host, intention),
        answer => {
          if (answer === undefined) return
          const told = toTold(answer)
          judge.judge(intention, told)
          if ('result' in told && told.result.seen !== undefined) {
            const done = judge.findDone(intention)
            this.#seen = {
              token: told.result.seen,
              since: Math.max(since, done?.committedAt ?? 0),
              ...(done && { item: [intention.family, readId(intention.family, done.entry.target)] })
            }
          }
        },
        intention.operation === 'promote'
      )
      if (answer !== undefined || !isRepeatable) return
      await world.sleep(random.between(1, 100))
    }
  }

  /** Many commands of one principal, in one commit or each for itself. */
  async #runMany (principal: string): Promise<void> {
    const { random, cluster: { world, judge } } = this
    const atomic = random.chance(0.6)
    const all = Array.from({ length: random.between(2, 3) }, () => this.#intend(principal))
    const intentions = all.filter(({ family, operation }) => family === 'accounts' && operation !== 'promote')
    if (intentions.length === 0) return
    const isRepeatable = intentions.every(({ identity }) => (identity.key ?? identity.command) !== undefined)
    world.note(() => `many${atomic ? ', atomic' : ''}: ${intentions.map(each =>
      `${each.mark} ${each.action} ${each.target ?? 'new'}`).join(', ')} by ${principal}`)
    for (let attempt = 0; attempt < 6; attempt++) {
      const answer = await this.call(host => runAll(host, intentions, principal, atomic), answer => {
        if (answer === undefined || 'code' in answer) {
          if (atomic && answer !== undefined) judge.judgeAllRefused(intentions, answer)
          return
        }
        for (const [index, each] of answer.value.entries()) {
          if (each !== undefined) judge.judge(intentions[index] as Intention, each, atomic)
        }
      })
      const isAnswered = answer !== undefined && ('code' in answer || answer.value.every(each => each !== undefined))
      if (isAnswered || !isRepeatable) return
      await world.sleep(random.between(1, 100))
    }
  }

  async #read (principal: string): Promise<void> {
    const { random, cluster: { judge, judge: { journal }, options } } = this
    const chosen = random.pick(['accounts', 'accounts', 'tickets'] as const)
    const written = random.chance(0.6) ? this.#seen.item : undefined
    const [family, id] = written ?? [chosen, this.#pickTarget(chosen)]
    const isHttp = random.chance(options.http)
    const kind = random.int(3)
    const isSent = random.chance(0.6)
    const { token, since: leastSeen } = isSent ? this.#seen : { token: undefined, since: 0 }
    let since = journal.commits
    // A replica has what its process has committed, and what the client has seen.
    const begin = (host: Host): void => {
      if (isHttp && options.replicas > 0) since = Math.max(host.acknowledged, leastSeen)
    }
    if (kind === 0) {
      await this.call(host => {
        begin(host)
        return isHttp
          ? getItem(host, family, id, principal, token)
          : host.service(family, principal).get(id as never, { principal })
      }, answer => {
        if (answer === undefined || judge.isUnreadable(answer, ['not-found'])) return
        judge.judgeRead(family, id, principal, since, 'value' in answer ? answer.value as Members : undefined)
      })
    } else if (kind === 1) {
      const isOpen = family === 'accounts' && random.chance(0.5)
      const limit = random.pick([1, 2, 100])
      await this.call(host => {
        begin(host)
        return isHttp
          ? list(host, family, principal, isOpen, limit, token)
          : walk(host, family, principal, isOpen, limit)
      }, answer => {
        if (answer === undefined || judge.isUnreadable(answer) || !('value' in answer)) return
        judge.judgeList(family, principal, since, answer.value, item => !isOpen || item.closed === false)
      })
    } else {
      await this.call(host => host.service(family, principal).log(id as never, { principal, limit: 100 }), answer => {
        if (answer === undefined || judge.isUnreadable(answer, ['not-found']) || !('value' in answer)) return
        judge.judgeLog(family, id, principal, since, answer.value.items as never)
      })
    }
  }
}
