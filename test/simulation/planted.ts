import type { Planted } from '../planting.js'
import type { Options } from './options.js'

/** A bug that is planted into a copy of the library, which has all of them, and a seed that finds it. */
export interface PlantedBug extends Planted {
  /** What goes wrong. */
  readonly what: string
  readonly seed: number
  /** Instead of those that the seed chooses, so that it is found sooner. */
  readonly options?: Partial<Options>
  /** The violation that it leads to. */
  readonly violation: RegExp
}

const calm: Partial<Options> = { processes: 3, crashes: 0, consumer: false, webhook: false, followers: 0, http: 0 }

/** Failovers while clients repeat what is late. */
const failing: Partial<Options> = {
  ...calm,
  processes: 2,
  clients: 4,
  commands: 5,
  pauses: 0,
  prunes: 0,
  many: 0.1,
  creations: 0,
  deletions: 0,
  impatience: 0.6,
  outages: 0,
  failovers: 3,
  late: 0.12,
  latest: 200,
  numberedLate: true
}

/** For what few histories have. */
const failingOften: Partial<Options> = { ...failing, clients: 5, commands: 9, failovers: 6, late: 0.2 }

/** Many commands and reads about what was. */
const visiting: Partial<Options> = { ...calm, clients: 3, commands: 5, past: 12, prunes: 0, failovers: 0 }

const bugs: Readonly<Record<string, PlantedBug>> = {
  'refused-retry': {
    what: 'a retry, while the first attempt is in flight in another process, is refused though the command is done',
    file: 'core/service/replay',
    text: 'if (await getRecord(execution, identity) !== undefined)',
    by: 'if (PLANTED ? identity === undefined : await getRecord(execution, identity) !== undefined)',
    seed: 661,
    violation: /^refused as .*, but done/
  },
  'unreadable-replay': {
    what: 'a retry is refused though the command is done, if the storage does not answer whether it is',
    file: 'core/service/replay',
    text: 'await getRecord(execution, identity) !== undefined',
    by: 'await getRecord(execution, identity).catch(error => { if (!PLANTED) throw error; }) !== undefined',
    seed: 4176,
    options: { ...calm, clients: 4, deletions: 0.4, impatience: 0.6, late: 0.2, latest: 50, read: 0.2 },
    violation: /^refused as .*, but done/
  },
  'second-creation': {
    what: 'between the choice of a counted id and the commit, another process creates and deletes an item with it',
    file: 'core/service/record',
    text: 'return markOnce(`${name}/', // eslint-disable-line
    by: 'if (PLANTED) return {}; return markOnce(`${name}/', // eslint-disable-line
    seed: 16,
    options: { ...calm, clients: 4, commands: 7, creations: 0.4, deletions: 0.6, late: 0.3, latest: 200 },
    violation: /a second creation/
  },
  'consumer-during-prune': {
    what: 'a consumer is added while `prune` runs, which deletes entries that it has not handled',
    file: 'core/data/open-log',
    text: ', keepMark(mark)])',
    by: ', ...(PLANTED ? [] : [keepMark(mark)])])',
    seed: 17,
    options: { ...calm, consumer: true, prunes: 12, drift: 0, late: 0.2, latest: 50 },
    violation: /pruned, but consumer/
  },
  'place-set-back': {
    what: '`prune` deletes what a consumer has handled, whose place a failover sets back',
    file: 'tools/consumer-places',
    text: 'storage.confirm === undefined)',
    by: 'storage.confirm === undefined || PLANTED)',
    seed: 195,
    options: {
      ...calm,
      processes: 2,
      clients: 4,
      commands: 8,
      consumer: true,
      prunes: 12,
      failovers: 4,
      drift: 0,
      late: 0,
      creations: 0,
      deletions: 0,
      impatience: 0,
      numberedLate: true
    },
    violation: /pruned, but consumer/
  },
  'silent-prune': {
    what: 'a follower skips entries that were pruned',
    file: 'core/feed/feed',
    text: 'check(pruned);',
    by: 'if (!PLANTED) check(pruned);',
    seed: 82,
    options: { ...calm, followers: 2, prunes: 4, late: 0.1, latest: 50 },
    violation: /^follower .* without/
  },
  'old-holder': {
    what: 'a consumer that has lost its lease saves its position',
    file: 'tools/leases',
    text: 'const position = Math.max(this.position, current.position);',
    by: `if (PLANTED) return { position: this.position, ...change(current) };
            const position = Math.max(this.position, current.position);`,
    seed: 9,
    options: { ...calm, consumer: true, pauses: 3, late: 0.1, latest: 200 },
    violation: /^consumer mailer: went back/
  },
  'late-pruned': {
    what: 'a consumer that has stood still is ended by what was pruned after the next holder handled it',
    file: 'tools/consumers',
    text: '&& lease.isHeld)',
    by: '&& (PLANTED || lease.isHeld))',
    seed: 340,
    options: { ...calm, consumer: true, commands: 9, pauses: 9, prunes: 12, late: 0.2, latest: 400 },
    violation: /^consumer: .* were deleted/
  },
  'forgotten-other': {
    what: 'the second item of an operation is not written',
    file: 'core/service/record',
    text: 'after, record } of changedOthers) {',
    by: 'after, record } of (PLANTED ? [] : changedOthers)) {',
    seed: 59,
    violation: /transferred, but 0 got it/
  },
  'stale-last-id': {
    what: 'an id is counted from an old read',
    file: 'core/service/new-ids',
    text: '|| await findLast() === last)',
    by: '|| (PLANTED ? last >= 0 : await findLast() === last))',
    seed: 5,
    options: { ...calm, clients: 4, commands: 7, creations: 0.9, late: 0.4, latest: 200 },
    violation: /comes after/
  },
  'lost-commit': {
    what: 'a command is acknowledged before its commit has succeeded',
    file: 'core/service/commit',
    text: 'await (trace === undefined ? commit() : trace(\'commit\', commit));',
    by: 'if (PLANTED) commit().catch(() => {}); else await commit();',
    seed: 1,
    violation: /acknowledged, but not done/
  },
  'hidden-param': {
    what: 'a parameter that is hidden is in the log',
    file: 'core/service/record',
    text: 'const params = hideSecrets(fields, command.params);',
    by: 'const params = PLANTED ? command.params : hideSecrets(fields, command.params);',
    seed: 2,
    violation: /^hidden, but shown/
  },
  'unmarked-prune': {
    what: '`prune` does not note the last position that it has deleted',
    file: 'core/data/prune',
    text: 'keepMark(mark, entries, hash)',
    by: 'keepMark(mark, PLANTED ? [] : entries, hash)',
    seed: 29,
    violation: /pruned without a mark/
  },
  'open-grant': {
    what: 'the conditions of a grant do not hold for single items',
    file: 'core/service/caller',
    text: 'export function canSee(',
    by: `export function canSee(grant, item) { return PLANTED ? item !== undefined : canReallySee(grant, item); }
      function canReallySee(`,
    seed: 9,
    violation: /^of \w+, but shown to|^said|^refused|^acknowledged|^read of/
  },
  'unseen-webhook': {
    what: 'a webhook whose creation was pruned before a process saw it begins with what happens then',
    file: 'core/data/open-log',
    text: 'await findPruned(storage) > 0 ?',
    by: '!PLANTED && await findPruned(storage) > 0 ?',
    seed: 8,
    options: { ...calm, processes: 1, webhook: true, crashes: 6, prunes: 20, drift: 0, latest: 50, commands: 5 },
    violation: /^webhook: (has not got|got .* before)/
  },
  'left-place': {
    what: 'a webhook is deleted and the process ends: its place stays, and holds up `prune`',
    file: 'webhooks/sender',
    text: 'for (const id of places)',
    by: 'for (const id of PLANTED ? [] : places)',
    seed: 10,
    options: { ...calm, processes: 1, webhook: true, crashes: 4, commands: 7 },
    violation: /^webhook: its place .* is left/
  },
  'late-place': {
    what: 'a webhook whose creation was pruned gets its place after it is failing: `prune` deletes more until then',
    file: 'webhooks/sender',
    text: 'if (isNew)\n            await addConsumer(storage, { name, after: start });',
    by: `if (isNew && PLANTED && JSON.parse(Buffer.from(start, 'base64url').toString()).at(-1) === 0) {
        await this.#end('fail', webhook, 'planted');
        await addConsumer(storage, { name });
        await skipPruned(storage, name);
        return;
      }
      if (isNew) await addConsumer(storage, { name, after: start });`,
    seed: 291,
    options: { ...calm, processes: 2, webhook: true, crashes: 4, prunes: 20, drift: 0, latest: 200, commands: 5 },
    violation: /^webhook: (has not got|got .* before)/
  },
  'same-revision': {
    what: 'after a failover, an old holder takes the place of a consumer for the lost one, as it has its revision',
    file: 'core/data/keep-row',
    text: 'if (current === undefined)',
    by: `if (PLANTED) item.revision = expected + 1;
      if (PLANTED && current !== undefined) return { type: 'replace', family, item, expected };
      if (current === undefined)`,
    seed: 4816,
    options: {
      ...calm,
      clients: 1,
      commands: 5,
      consumer: true,
      prunes: 3,
      failovers: 4,
      replicas: 1,
      drift: 0,
      late: 0.06,
      latest: 800,
      conflict: 0.06,
      creations: 0,
      deletions: 0,
      numberedLate: true
    },
    violation: /^consumer mailer: went back|^consumer: .* were deleted/
  },
  'lost-base': {
    what: 'a change that was decided on one that a failover took back overwrites a different one',
    file: 'core/service/record',
    text: "type: 'replace', family, item: after, expected, current }",
    by: "type: 'replace', family, item: after, expected, ...!PLANTED && { current } }",
    seed: 81,
    options: failingOften,
    violation: /^accounts\/1: is .* but should be/
  },
  'taken-by-itself': {
    what: 'the id of a new item is said to be taken by its own first attempt, which a failover took back',
    file: 'core/service/attempt',
    text: 'first.id === identity?.row',
    by: '!PLANTED && first.id === identity?.row',
    seed: 6797,
    options: failing,
    violation: /^refused as taken/
  },
  'old-replica': {
    what: 'a replica answers that does not have what the client has seen',
    file: 'storage/postgres/replicas',
    text: 'const least = seen === undefined ? start : readToken(seen);',
    by: 'const least = PLANTED || seen === undefined ? start : readToken(seen);',
    seed: 37,
    options: { ...calm, http: 0.7, replicas: 2, reads: 0.5, latest: 1000, commands: 8 },
    violation: /^read of|^list/
  },
  'own-replica': {
    what: 'a replica answers that does not have what this process has committed',
    file: 'storage/postgres/replicas',
    text: 'await storage.commit(changes);',
    by: 'await storage.commit(changes); if (PLANTED) return;',
    seed: 111,
    options: { ...calm, http: 0.7, replicas: 2, reads: 0.5, latest: 1000, commands: 8 },
    violation: /^read of|^list/
  },
  'unsafe-replay': {
    what: 'a retry is acknowledged that is lost in a failover',
    file: 'core/service/replay',
    text: 'await execution.storage.confirm?.(\'commands\', id,',
    by: 'if (!PLANTED) await execution.storage.confirm?.(\'commands\', id,',
    seed: 2,
    options: { ...calm, failovers: 3, numberedLate: true, late: 0 },
    violation: /acknowledged, but lost/
  },
  'old-replay': {
    what: 'a replay is of a command that a failover took back, and that another attempt has made again',
    file: 'core/service/replay',
    text: 'storage.confirm === undefined ? found : await confirmRecord(execution, identity, found)',
    by: `storage.confirm === undefined ? found
        : await confirmRecord(execution, identity, found).then(again => PLANTED ? found : again)`,
    seed: 2281,
    options: failingOften,
    violation: /refused as id-reused, but/
  },
  'outage-ends-consumer': {
    what: 'a consumer ends when the database is away',
    file: 'tools/consumers',
    text: 'await toolRuntime.delay(leaseTime * (0.05 + toolRuntime.random() / 10), signal);',
    by: `if (PLANTED && seen === undefined) throw new Error('The storage does not answer');
      await toolRuntime.delay(leaseTime * (0.05 + toolRuntime.random() / 10), signal);`,
    seed: 1,
    options: { ...calm, consumer: true, outages: 2 },
    violation: /^consumer: /
  },
  'taken-next-id': {
    what: 'a creation fails whose id of the sequence is taken',
    file: 'core/service/storage-access',
    text: 'return error instanceof ConflictError || error instanceof DuplicateError;',
    by: 'return error instanceof ConflictError || (!PLANTED && error instanceof DuplicateError);',
    seed: 1,
    options: { ...calm, sequence: true, creations: 0.8, late: 0 },
    violation: /^unexpected error: |^acknowledged|^refused/
  },
  'short-text': {
    what: 'a page that is read as text does not say that more follow',
    file: 'core/storage/pages',
    text: 'const more = items.length > query.limit;',
    by: 'const more = !PLANTED && items.length > query.limit;',
    seed: 123,
    options: { ...calm, http: 1, texts: true, reads: 0.5 },
    violation: /^list .* lacks/
  },
  'missing-default': {
    what: 'items that the earlier version stores lack the default of a field that the next one adds',
    file: 'core/storage/shapes',
    text: 'if (missing.length === 0)',
    by: 'if (PLANTED || missing.length === 0)',
    seed: 6,
    options: { ...calm, upgrade: true, commands: 7 },
    violation: /^unexpected error: .*grade/
  },
  'restored-otherwise': {
    what: 'a deleted item comes back without what an operation has changed',
    file: 'core/service/past',
    text: '...last.item, revision })',
    by: '...last.item, ...PLANTED && \'balance\' in last.item && { balance: 100 }, revision })',
    seed: 32,
    options: visiting,
    violation: /after RestoreAccount, but should be/
  },
  'reverted-in-part': {
    what: 'a reversion keeps what was not there at the revision',
    file: 'core/service/past',
    text: '{ ...rebuilt.item, ...Object',
    by: '{ ...PLANTED && current.note !== undefined && { note: current.note }, ...rebuilt.item, ...Object',
    seed: 148,
    options: visiting,
    violation: /after RevertAccount, but should be/
  },
  'reverted-hidden': {
    what: 'a reversion changes what is hidden from the caller',
    file: 'core/service/granted',
    text: 'of hiding.names.keys())',
    by: 'of PLANTED ? [] : hiding.names.keys())',
    seed: 2,
    options: visiting,
    violation: /after RevertAccount, but should be/
  },
  'shown-though-hidden': {
    what: 'a field that is hidden is in items and logs',
    file: 'core/service/reader',
    text: 'this.family = narrowFamily(called.family, grant.hide)',
    by: 'this.family = PLANTED ? called.family : narrowFamily(called.family, grant.hide)',
    seed: 1,
    options: visiting,
    violation: /^hidden from red-kim, but shown/
  },
  'logged-though-hidden': {
    what: 'a field that is hidden is in the changes of a log',
    file: 'core/service/shown',
    text: 'changes && keepChanges(getKnown(family), changes)',
    by: 'changes && (PLANTED ? changes : keepChanges(getKnown(family), changes))',
    seed: 67,
    options: visiting,
    violation: /^hidden from red-kim, but shown/
  },
  'past-in-part': {
    what: 'an item as it was has values that it got later',
    file: 'core/service/history',
    text: 'delete state[name];',
    by: 'if (!PLANTED) delete state[name];',
    seed: 2,
    options: visiting,
    violation: /^past of accounts/
  }
}

/** Unless they are about what was, so that other seeds stay as they are. */
export const plantedBugs: Readonly<Record<string, PlantedBug>> = Object.fromEntries(Object.entries(bugs)
  .map(([name, bug]) => [name, { ...bug, options: { past: 0, ...bug.options } }]))
