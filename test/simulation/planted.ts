import type { Options } from './options.js'

/** A bug that is planted into a copy of the library, and a seed that finds it. */
export interface PlantedBug {
  /** What goes wrong. */
  readonly what: string
  /** The file in `lib`, and the text that is replaced in what it is compiled to. */
  readonly file: string
  readonly text: string
  readonly by: string
  readonly seed: number
  /** Instead of those that the seed chooses, so that it is found sooner. */
  readonly options?: Partial<Options>
  /** The violation that it leads to. */
  readonly violation: RegExp
}

const calm: Partial<Options> = { processes: 3, crashes: 0, consumer: false, webhook: false, followers: 0, http: 0 }

export const plantedBugs: Readonly<Record<string, PlantedBug>> = {
  'refused-retry': {
    what: 'a retry, while the first attempt is in flight in another process, is refused though the command is done',
    file: 'core/service/execute',
    text: 'if (await getRecord(execution, identity) !== undefined)',
    by: 'if (identity === undefined)',
    seed: 190,
    violation: /^refused as .*, but done/
  },
  'unreadable-replay': {
    what: 'a retry is refused though the command is done, if the storage does not answer whether it is',
    file: 'core/service/execute',
    text: 'if (await getRecord(execution, identity) !== undefined)',
    by: 'if (await getRecord(execution, identity).catch(() => undefined) !== undefined)',
    seed: 124,
    options: { ...calm, clients: 4, deletions: 0.4, impatience: 0.6, late: 0.2, latest: 50, read: 0.2 },
    violation: /^refused as .*, but done/
  },
  'second-creation': {
    what: 'between the choice of a counted id and the commit, another process creates and deletes an item with it',
    file: 'core/service/record',
    text: 'const hash = createHash(\'sha256\').update(`${name}/${id}`).digest();', // eslint-disable-line
    by: 'return {}; let hash;',
    seed: 5,
    options: { ...calm, clients: 4, commands: 7, creations: 0.4, deletions: 0.6, late: 0.3, latest: 200 },
    violation: /a second creation/
  },
  'consumer-during-prune': {
    what: 'a consumer is added while `prune` runs, which deletes entries that it has not handled',
    file: 'tools/consumers',
    text: 'commit([change, keepMark(mark)])',
    by: 'commit([change])',
    seed: 167,
    options: { ...calm, consumer: true, prunes: 4, late: 0.3, latest: 200 },
    violation: /pruned, but consumer/
  },
  'silent-prune': {
    what: 'a follower skips entries that were pruned',
    file: 'core/service/feed',
    text: 'check(pruned);',
    by: '',
    seed: 69,
    options: { ...calm, followers: 2, prunes: 4, late: 0.1, latest: 50 },
    violation: /^follower .* without/
  },
  'old-holder': {
    what: 'a consumer that has lost its lease saves its position',
    file: 'tools/leases',
    text: 'current.holder === this.#holder',
    by: 'current !== undefined',
    seed: 1,
    options: { ...calm, consumer: true, pauses: 3, late: 0.1, latest: 200 },
    violation: /^consumer mailer: went back/
  },
  'forgotten-other': {
    what: 'the second item of an operation is not written',
    file: 'core/service/record',
    text: 'const changed = changedOthers.flatMap(',
    by: 'const changed = [].flatMap(',
    seed: 1,
    violation: /transferred, but 0 got it/
  },
  'stale-last-id': {
    what: 'an id is counted from an old read',
    file: 'core/service/record',
    text: '|| await findLast() === last)',
    by: '|| last >= 0)',
    seed: 4,
    options: { ...calm, clients: 4, commands: 7, creations: 0.9, late: 0.4, latest: 200 },
    violation: /comes after/
  },
  'lost-commit': {
    what: 'a command is acknowledged before its commit has succeeded',
    file: 'core/service/execute',
    text: 'await (caller.trace === undefined ? commit() : caller.trace(\'commit\', commit));',
    by: 'commit().catch(() => {});',
    seed: 1,
    violation: /acknowledged, but not done/
  },
  'hidden-param': {
    what: 'a parameter that is hidden is in the log',
    file: 'core/service/record',
    text: 'const params = hideSecrets(fields, command.params);',
    by: 'const params = command.params;',
    seed: 2,
    violation: /^hidden, but shown/
  },
  'unmarked-prune': {
    what: '`prune` does not note the last position that it has deleted',
    file: 'tools/maintenance',
    text: 'keepMark(mark, entries)',
    by: 'keepMark(mark)',
    seed: 5,
    violation: /pruned without a mark/
  },
  'open-grant': {
    what: 'the conditions of a grant do not hold for single items',
    file: 'core/service/caller',
    text: 'export function canSee(',
    by: 'export function canSee(_grant, item) { return item !== undefined; }\nfunction canSeeBefore(',
    seed: 4,
    violation: /^of \w+, but shown to|^said|^refused|^acknowledged|^read of/
  }
}
