import { identifyCommand } from '../../lib/core/service/command-ids.js'
import type { Id, Members, Stored } from '../../lib/index.js'
import type { Result } from './host.js'
import { applyEntry, type Entry, isHiding, isRefused, isVisible, listHidden, noteMark, tenantOf } from './model.js'
import { isDeletion, isShownOf, type Journal, type Known } from './oracle.js'
import type { World } from './world.js'

/** A command as a client means it, however often it is sent. */
export interface Intention {
  readonly family: 'accounts' | 'tickets'
  readonly operation: string
  readonly action: string
  readonly target: Id | undefined
  readonly params: Members
  /** Names it in the log; of a deletion, only here. */
  readonly mark: string
  readonly principal: string
  /** It is safe to send again. */
  readonly identity: { readonly command?: string, readonly key?: string }
  readonly revision: number | undefined
  /** In commits: when it was first sent. */
  readonly since: number
}

/** A read of an item as it was. */
export interface PastRead {
  readonly family: string
  readonly id: Id
  readonly revision: number
  readonly principal: string
  /** In commits: when it began. */
  readonly since: number
}

/** Of commands without a mark in the log, the row is known by their id. */
const hasNoMark = /^(?:Delete|Restore|Revert)/
const isPast = /^(?:Restore|Revert)/

/** What a client was told: a problem's code below 500, or what was done. */
export type Told =
  | { readonly code: string, readonly detail?: string }
  | { readonly result: Partial<Result> & { readonly replayed: boolean, readonly seen?: string | undefined } }

/** Checks what clients are told against the journal. */
export class Judge {
  constructor (readonly world: World, readonly journal: Journal) {}

  #fail (intention: Intention, what: string): void {
    const { action, target = 'new', mark, principal } = intention
    this.world.fail(`${what}: ${action} ${target} (${mark} of ${principal})`)
  }

  /** Texts that the caller must not see: what is hidden, and what belongs to other tenants. */
  checkHidden (shown: unknown, principal: string | undefined, isSetting = false): void {
    const text = typeof shown === 'string' ? shown : JSON.stringify(shown) ?? ''
    if (!isSetting && text.includes('SECRET')) this.world.fail(`hidden, but shown: ${text}`)
    if (isHiding(principal) && (text.includes(noteMark) || text.includes('"code"'))) {
      this.world.fail(`hidden from ${principal ?? ''}, but shown: ${text}`)
    }
    const tenant = tenantOf(principal)
    if (tenant === undefined) return
    const other = tenant === 'red' ? 'blue' : 'red'
    if (text.includes(`"tenant":"${other}"`) || text.includes(`${other}-`)) {
      this.world.fail(`of ${other}, but shown to ${principal ?? 'all'}: ${text}`)
    }
  }

  /** What it has done. */
  findDone ({ action, mark, identity: { key, command: id }, principal }: Intention): Known | undefined {
    if (!hasNoMark.test(action)) return this.journal.done.get(mark)
    const row = identifyCommand({ ...(key !== undefined && { key }), ...(id !== undefined && { id }) }, principal)?.row
    const known = row === undefined ? undefined : this.journal.entries.get(row)
    return known?.entry.outcome === 'done' ? known : undefined
  }

  isDone (intention: Intention): boolean {
    return this.findDone(intention) !== undefined
  }

  /** A deletion without an identity cannot be told from those of others. */
  #mayBeDone (intention: Intention): boolean {
    const { action, family, target } = intention
    return this.isDone(intention) || (action.startsWith('Delete') &&
      this.journal.listEntries(family, target as Id).some(({ entry }) => entry.action === action))
  }

  /** @param isAtomic whether it was decided on the effect of others in the same commit, which is not in the journal */
  judge (intention: Intention, told: Told, isAtomic = false): void {
    this.world.note(() => `${intention.mark} ${'code' in told ? `refused: ${told.code}` : nameResult(told.result)}`)
    if ('code' in told) this.#judgeRefusal(intention, told)
    else this.#judgeResult(intention, told.result, isAtomic)
  }

  #judgeResult (intention: Intention, result: Partial<Result>, isAtomic: boolean): void {
    const { item, command, changed, replayed = false } = result
    const { params, principal, mark } = intention
    const isSetting = 'pin' in params
    this.checkHidden(command, principal)
    this.checkHidden(item, principal, isSetting)
    const isDone = this.#mayBeDone(intention)
    if (changed === true && !isDone) return this.#fail(intention, 'acknowledged, but not done')
    if (changed === false && isDone) return this.#fail(intention, 'said to change nothing, but done')
    if (changed !== true && !isDone && !isAtomic && !this.#wasUnchanged(intention)) {
      return this.#fail(intention, 'acknowledged')
    }
    const done = changed === false ? undefined : this.findDone(intention)
    if (done !== undefined) this.journal.acknowledge(done)
    const known = this.journal.done.get(mark)
    if (changed !== true || known === undefined || command === undefined) return
    if (command.revision !== known.entry.revision) this.#fail(intention, `acknowledged at revision ${command.revision}`)
    const version = this.journal.findAfter(known)
    if (replayed || item === undefined || version === undefined) return
    const { pin, ...shown } = item
    if (!isShownOf(shown, version)) this.#fail(intention, `shown as ${JSON.stringify(item)}`)
  }

  /** Whether there was a moment when it would have changed nothing. */
  #wasUnchanged ({ family, target, action, params, since, principal }: Intention): boolean {
    if (target === undefined) return false
    const was = action.startsWith('Revert') && this.journal.findRevision(family, target, Number(params.to))
    for (const version of this.journal.versionsSince(family, target, since)) {
      if (!isVisible(version, tenantOf(principal))) continue
      const after = was === false ? applyEntry(version, { action, params } as Entry) : was
      const ignored = was === false ? [] : ['revision', 'updatedAt', 'pin', 'grade', ...listHidden(family, principal)]
      const shown = after && Object.fromEntries(Object.entries(after).filter(([name]) => !ignored.includes(name)))
      if (shown !== undefined && isShownOf(shown, version as Stored, ignored)) return true
      // The journal does not have the item at that revision.
      if (was === undefined) return true
    }
    return false
  }

  #judgeRefusal (intention: Intention, { code, detail = '' }: Extract<Told, { code: string }>): void {
    const done = this.findDone(intention)
    if (this.#wasTrue(intention, code, done?.committedAt)) return
    this.#fail(intention, `refused as ${code}${done === undefined ? ` without a reason ${detail}` : ', but done'}`)
  }

  /** All of one commit: none is done, unless another attempt did them after the reason held for one of them. */
  judgeAllRefused (intentions: readonly Intention[], { code }: Extract<Told, { code: string }>): void {
    for (const each of intentions) {
      // A deletion without an identity cannot be told from those of others.
      const done = each.action.startsWith('Delete') ? undefined : this.findDone(each)
      if (done === undefined) continue
      const wasTrue = intentions.some(other => this.#wasTrue(other, code, done.committedAt, false))
      if (!wasTrue) this.#fail(each, `many refused as ${code}, but done`)
    }
  }

  /**
   * Whether there was a moment when the reason held. If the command was done, then before that: this attempt may have
   * been refused, and another one have succeeded later. Only the refusal by a rule is kept in the log, and holds for
   * all attempts (docs/forms.md, "Retries"); after any other, a retry runs.
   */
  #wasTrue (intention: Intention, code: string, before: number | undefined, isKept = true): boolean {
    const { target, revision, action, params, since } = intention
    const was = (id: Id, holds: (item: Stored | undefined) => boolean, family = intention.family): boolean =>
      [...this.journal.versionsSince(family, id, since, before)].some(holds)
    const tenant = tenantOf(intention.principal)
    switch (code) {
      case 'not-found':
        return target !== undefined && was(target, item => !isVisible(item, tenant))
      case 'precondition-failed':
        return revision !== undefined && was(target as Id, item => item?.revision !== revision)
      case 'wrong-state':
        return (before === undefined || !isKept) &&
          was(target as Id, item => item !== undefined && isRefused(item, action, params))
      case 'taken':
        return (action === 'CreateTicket' && this.#wasTaken(intention, before)) ||
          (/^(?:Restore|Revert)Ticket/.test(action) &&
            this.#wasAny('tickets', since, item => item.id !== target, before))
      case 'missing':
        return this.#listAccounts(intention).some(id => was(id, item => !isVisible(item, tenant), 'accounts'))
      case 'pruned':
        return isPast.test(action) && this.#isPruned(intention.family, target as Id)
      case 'in-use':
        return action === 'DeleteAccount' &&
          this.#wasAny('tickets', since, ({ account }) => account === target, before)
      case 'invalid-body': {
        if (action.startsWith('Revert')) return this.#isNoRevision(intention)
        const other = (params.to ?? params.account) as Id | undefined
        return other !== undefined && (other === target ||
          was(other, item => !isVisible(item, tenant), 'accounts'))
      }
      default:
        return false
    }
  }

  #wasAny (family: string, since: number, holds: (item: Stored) => boolean, before?: number): boolean {
    for (const name of this.journal.items) {
      if (!name.startsWith(`${family}/`)) continue
      for (const item of this.journal.versionsSince(family, name.slice(family.length + 1), since, before)) {
        if (item !== undefined && holds(item)) return true
      }
    }
    return false
  }

  /** By an item, or by the log of one that is deleted; never by what it has created itself. */
  #wasTaken ({ params: { id, code }, mark, since }: Intention, before = Infinity): boolean {
    return this.journal.listEntries('tickets', id as Id).some(({ entry, committedAt }) =>
      entry.outcome === 'done' && entry.params?.mark !== mark && committedAt < before) ||
      this.#wasAny('tickets', since, item => (item.code === code || item.id === id) && item.mark !== mark, before)
  }

  /** A read that is refused has no answer; only some refusals are expected. */
  isUnreadable (answer: object, expected: readonly string[] = []): boolean {
    if (!('code' in answer) || expected.includes(String(answer.code))) return false
    this.world.fail(`read refused: ${JSON.stringify(answer)}`)
    return true
  }

  /** The accounts to which a ticket has ever referred. */
  #listAccounts ({ family, target }: Intention): Id[] {
    if (family !== 'tickets') return []
    const versions = [...this.journal.versionsSince(family, target as Id, 0)]
    return versions.flatMap(version => version?.account === undefined ? [] : version.account as Id)
  }

  #isPruned (family: string, id: Id): boolean {
    return this.journal.listEntries(family, id).some(({ prunedAt }) => prunedAt !== undefined)
  }

  /** Whether it had not come to a revision yet, or was deleted at it, or refers to what the caller cannot read. */
  #isNoRevision (intention: Intention): boolean {
    const { family, target, params, since } = intention
    const to = Number(params.to)
    const versions = [...this.journal.versionsSince(family, target as Id, since)]
    return versions.some(version => version !== undefined && version.revision < to) ||
      this.journal.listEntries(family, target as Id).some(known => isDeletion(known) && known.entry.revision === to) ||
      this.#listAccounts(intention).length > 0
  }

  /** An item as it was at a revision, or why it is not told. */
  judgePast ({ family, id, revision, principal, since }: PastRead, told: Members | string): void {
    const { journal, world } = this
    const tenant = tenantOf(principal)
    this.checkHidden(told, principal)
    const was = journal.findRevision(family, id, revision)
    const isOld = journal.listEntries(family, id).some(({ entry, committedAt }) =>
      entry.revision === revision && entry.outcome === 'done' && committedAt <= since)
    const isTrue = typeof told !== 'string'
      ? was === undefined || journal.hasLost ||
        (isVisible(was, tenant) && isShownOf(told, was, listHidden(family, principal)))
      : this.#isPruned(family, id) || (told === 'not-found' && (was === undefined || tenant !== undefined || !isOld)) ||
        journal.hasLost
    if (isTrue) return
    const what = typeof told === 'string' ? told : JSON.stringify(told)
    world.fail(`past of ${family}/${id} at ${revision} by ${principal}: ${what}, but was ${JSON.stringify(was)}`)
  }

  /** An item that was read, or none. */
  judgeRead (family: string, id: Id, principal: string, since: number, item: Members | undefined): void {
    const tenant = tenantOf(principal)
    this.checkHidden(item, principal)
    const isTrue = item === undefined
      ? [...this.journal.versionsSince(family, id, since)].some(version => !isVisible(version, tenant))
      : this.journal.wasSeen(family, item, principal, since)
    if (!isTrue) this.world.fail(`read of ${family}/${id} by ${principal}: ${JSON.stringify(item) ?? 'not found'}`)
  }

  /** All pages of a list: whole, in order, and each item as it was at some moment. */
  judgeList (family: string, principal: string, since: number, items: readonly Members[], holds: Holds): void {
    const tenant = tenantOf(principal)
    this.checkHidden(items, principal)
    const found = new Set<string>()
    for (const item of items) {
      const name = `${family}/${String(item.id)}`
      if (found.has(name)) this.world.fail(`list: ${name} twice`)
      found.add(name)
      if (!holds(item) || !this.journal.wasSeen(family, item, principal, since)) {
        this.world.fail(`list for ${principal}: has ${JSON.stringify(item)}`)
      }
    }
    for (const name of this.journal.items) {
      if (!name.startsWith(`${family}/`) || found.has(name)) continue
      const id = name.slice(family.length + 1)
      const versions = [...this.journal.versionsSince(family, id, since)]
      if (versions.every(version => isVisible(version, tenant) && holds(version as Members))) {
        this.world.fail(`list for ${principal}: lacks ${name}`)
      }
    }
  }

  /**
   * The log of an item: all that was committed before and is not pruned, in order. `prune` goes by the clocks of the
   * processes, so it may leave a revision before one that it deletes.
   */
  judgeLog (family: string, id: Id, principal: string, since: number, entries: readonly Members[]): void {
    this.checkHidden(entries, principal)
    const revisions = entries.filter(({ outcome }) => outcome === 'done').map(({ revision }) => Number(revision))
    if (revisions.some((revision, index) => index > 0 && revision <= (revisions[index - 1] as number))) {
      this.world.fail(`log of ${family}/${id}: revisions ${revisions.join()}`)
    }
    for (const { entry, committedAt, prunedAt } of this.journal.listEntries(family, id)) {
      const isShown = committedAt <= since || entry.revision < (revisions.at(-1) ?? 0)
      if (entry.outcome !== 'done' || !isShown || prunedAt !== undefined) continue
      if (revisions.includes(entry.revision)) continue
      this.world.fail(`log of ${family}/${id}: lacks revision ${entry.revision}`)
    }
  }
}

function nameResult ({ replayed, changed }: Partial<Result>): string {
  return `acknowledged${replayed === true ? ', replayed' : ''}${changed === false ? ', unchanged' : ''}`
}

type Holds = (item: Members) => boolean
