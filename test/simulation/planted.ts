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
  },
  'unseen-webhook': {
    what: 'a webhook whose creation was pruned before a process saw it begins with what happens then',
    file: 'webhooks/sender',
    text: 'if (created === undefined && await findPruned(storage) > 0)',
    by: 'if (created === null)',
    seed: 1,
    options: { ...calm, webhook: true, crashes: 2, prunes: 4, late: 0.2, latest: 200 },
    violation: /^webhook: (has not got|got .* before)/
  },
  'left-place': {
    what: 'a webhook is deleted and the process ends: its place stays, and holds up `prune`',
    file: 'webhooks/sender',
    text: 'for (const id of places)',
    by: 'for (const id of [])',
    seed: 1,
    options: { ...calm, processes: 1, webhook: true, crashes: 4, commands: 7 },
    violation: /^webhook: its place .* is left/
  },
  'unsafe-webhook': {
    what: 'a webhook that a failover takes back gets a place, which stays',
    file: 'webhooks/sender',
    text: 'await storage.confirm?.(family.name, id);',
    by: '',
    seed: 1,
    options: { ...calm, webhook: true, failovers: 3, numberedLate: true, crashes: 4 },
    violation: /^webhook: its place .* is left/
  },
  'old-replica': {
    what: 'a replica answers that does not have what the client has seen',
    file: 'storage/postgres/replicas',
    text: 'const least = seen === undefined ? start : readToken(seen);',
    by: 'const least = start;',
    seed: 1,
    options: { ...calm, http: 0.5, replicas: 2, latest: 200, commands: 7 },
    violation: /^read of|^list/
  },
  'own-replica': {
    what: 'a replica answers that does not have what this process has committed',
    file: 'storage/postgres/replicas',
    text: 'position = primary.readPosition().catch(() => undefined);',
    by: '',
    seed: 1,
    options: { ...calm, http: 0.5, replicas: 2, latest: 200, commands: 7 },
    violation: /^read of|^list/
  },
  'unsafe-replay': {
    what: 'a retry is acknowledged that is lost in a failover',
    file: 'core/service/execute',
    text: 'await storage.confirm?.(\'commands\', record.id, signal);',
    by: '',
    seed: 1,
    options: { ...calm, failovers: 3, numberedLate: true, late: 0 },
    violation: /acknowledged, but lost/
  },
  'outage-ends-consumer': {
    what: 'a consumer ends when the database is away',
    file: 'tools/consumers',
    text: 'await delay(leaseTime * (0.05 + random() / 10), undefined, { signal }).catch(() => { });',
    by: 'if (seen === undefined) throw new Error(\'The storage does not answer\');',
    seed: 1,
    options: { ...calm, consumer: true, outages: 2 },
    violation: /^consumer: /
  },
  'taken-next-id': {
    what: 'a creation fails whose id of the sequence is taken',
    file: 'core/service/storage-access',
    text: 'return error instanceof ConflictError || error instanceof DuplicateError;',
    by: 'return error instanceof ConflictError;',
    seed: 1,
    options: { ...calm, sequence: true, creations: 0.8, late: 0 },
    violation: /^unexpected error: |^acknowledged|^refused/
  },
  'short-text': {
    what: 'the pages after the first one of a list that is read as text are those of an unfiltered one',
    file: 'http/reads/page',
    text: 'where: [...query.where, ...parts.flat()]',
    by: 'where: parts.flat()',
    seed: 1,
    options: { ...calm, http: 1, texts: true, commands: 7, late: 0 },
    violation: /^list|^of \w+, but shown to/
  },
  'missing-default': {
    what: 'items that the earlier version stores lack the default of a field that the next one adds',
    file: 'core/storage/shapes',
    text: 'if (missing.length === 0)',
    by: 'if (missing.length >= 0)',
    seed: 1,
    options: { ...calm, upgrade: true, commands: 7 },
    violation: /^unexpected error: .*grade/
  }
}
