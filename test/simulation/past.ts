import type { Id, Members } from '../../lib/index.js'
import { Client, type Cluster } from './clients.js'
import type { Result } from './host.js'
import type { Intention } from './judge.js'
import { isDeletion, readItemName } from './oracle.js'
import type { Random } from './random.js'
import { runCommand, toTold, walk } from './requests.js'

type Family = 'accounts' | 'tickets'

// From the last one, notes and codes are hidden.
const principals = ['red-ann', 'blue-cid', 'admin-eve', 'red-kim']
const kinds = ['remove', 'restore', 'restore', 'revert', 'revert', 'was', 'was', 'log', 'list'] as const

/** Brings back what others have deleted or changed, reads what items were, and does not see everything. */
export class Visitor extends Client {
  #commands = 0

  constructor (cluster: Cluster, random: Random) {
    super(cluster, random, 'v')
  }

  override async run (): Promise<void> {
    const { random, cluster: { world, options } } = this
    for (let count = 0; count < options.past; count++) {
      await world.sleep(random.between(1, 300))
      const kind = random.pick(kinds)
      const principal = random.pick(principals)
      const end = this.begin()
      if (kind === 'was') await this.#readPast(principal)
      else if (kind === 'log' || kind === 'list') await this.#readNow(kind, principal)
      else await this.#send(this.#choose(kind, principal))
      end()
    }
  }

  #choose (operation: 'remove' | 'restore' | 'revert', principal: string): Intention {
    const { random, cluster: { judge: { journal } } } = this
    const [family, target] = this.#pick(operation === 'restore')
    const singular = family === 'accounts' ? 'Account' : 'Ticket'
    const action = { remove: 'Delete', restore: 'Restore', revert: 'Revert' }[operation] + singular
    const mark = `v${++this.#commands}`
    const top = journal.database.peek(family, target)?.revision ?? 3
    const params = operation === 'revert' ? { to: random.between(1, top + (random.chance(0.1) ? 1 : 0)) } : {}
    const identity = { command: `command-${mark}` }
    const since = journal.commits
    return { family, operation, action, target, params, mark, principal, identity, revision: undefined, since }
  }

  /** An item that was deleted, or any. */
  #pick (isDeleted: boolean): readonly [Family, Id] {
    const { random, cluster: { judge: { journal, journal: { database } } } } = this
    const names = [...journal.items].map(readItemName)
      .filter(([family, id]) => !isDeleted || database.peek(family, id) === undefined)
      .filter(([family]) => family === 'accounts' || family === 'tickets')
    return names.length === 0 ? ['accounts', random.between(1, 5)] : random.pick(names) as [Family, Id]
  }

  /** As often as it takes to get an answer. */
  async #send (intention: Intention): Promise<void> {
    const { random, cluster: { world, judge } } = this
    const { mark, action, target, principal, params } = intention
    world.note(() => `${mark} ${action} ${String(target)} by ${principal} ${JSON.stringify(params)}`)
    for (let attempt = 0; attempt < 8; attempt++) {
      const answer = await this.call<Result>(host => runCommand(host, intention), answer => {
        if (answer !== undefined) judge.judge(intention, toTold(answer))
      })
      if (answer !== undefined) return
      await world.sleep(random.between(1, 100))
    }
  }

  async #readPast (principal: string): Promise<void> {
    const { random, cluster: { judge, judge: { journal } } } = this
    const [family, id] = this.#pick(random.chance(0.3))
    const last = journal.listEntries(family, id).filter(each => !isDeletion(each)).at(-1)?.entry.revision ?? 1
    const revision = random.between(1, last)
    const since = journal.commits
    await this.call(host => host.service(family, principal).get(id as never, { principal, revision }), answer => {
      if (answer === undefined || judge.isUnreadable(answer, ['not-found', 'pruned'])) return
      const told = 'value' in answer ? answer.value as Members : String(answer.code)
      judge.judgePast({ family, id, revision, principal, since }, told)
    })
  }

  async #readNow (kind: 'log' | 'list', principal: string): Promise<void> {
    const { random, cluster: { judge, judge: { journal } } } = this
    const [family, id] = this.#pick(false)
    const since = journal.commits
    if (kind === 'list') {
      await this.call(host => walk(host, family, principal, false, random.pick([2, 100])), answer => {
        if (answer === undefined || judge.isUnreadable(answer) || !('value' in answer)) return
        judge.judgeList(family, principal, since, answer.value, () => true)
      })
      return
    }
    await this.call(host => host.service(family, principal).log(id as never, { principal, limit: 100 }), answer => {
      if (answer === undefined || judge.isUnreadable(answer, ['not-found']) || !('value' in answer)) return
      judge.judgeLog(family, id, principal, since, answer.value.items as never)
    })
  }
}
