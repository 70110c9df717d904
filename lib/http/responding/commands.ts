import { findGrant } from '../../core/book/offers.js'
import { type FieldChanges, listChanges } from '../../core/family/changes.js'
import { hideIn, narrowFamily } from '../../core/family/narrow.js'
import { preconditionFailed, type Problem } from '../../core/problems.js'
import { intendToRead } from '../../core/service/caller.js'
import { execute, type Outcome, preview, type PreviewedOther } from '../../core/service/execute.js'
import { findReadable } from '../../core/service/reader.js'
import type { Id, Stored } from '../../core/storage/storage.js'
import type { Members } from '../../core/values/json.js'
import type { FamilyMount } from '../../representations/target.js'
import { answerCreated } from '../forms/forms.js'
import { answerEntry, makeCommand, runCommand } from '../forms/write.js'
import { type Exchange, mountOf } from '../mount.js'
import { type LogRecord, showRecord } from './reading.js'
import { type Responding, toExchange } from './responding.js'

/** A command that a form was sent for. */
export interface FormCommand {
  /** As `authorize` has it, such as `HoldDeal`. */
  readonly action: string
  /** Undefined for a new item. */
  readonly id?: Id | undefined
  readonly params: Members
}

/** A command that was run. */
export interface RanCommand {
  /** Its entry. */
  readonly entry: LogRecord
  /** Whether the entry is in the log. */
  readonly isLogged: boolean
  /** Why it was refused, if the log has that. Other refusals are thrown. */
  readonly problem: Problem | undefined
  /** Whether it made something that is never shown again, such as a secret. */
  readonly hasSecrets: boolean
  /** Whether the caller may see the item after it. */
  mayShow (): Promise<boolean>
}

function showRan ({ mount: { family, caller }, request }: Pick<Exchange, 'mount' | 'request'>, outcome: Outcome) {
  const { record, id, problem, secrets } = outcome
  const entry = showRecord(family, record, record.principal)
  return {
    entry: id === undefined ? entry : { ...entry, id },
    isLogged: id !== undefined,
    problem,
    hasSecrets: secrets !== undefined,
    mayShow: async () => await findReadable({ family, caller: caller(request) }, outcome) !== undefined
  }
}

/**
 * Runs the command of a form like one of any representation: once under the key of the form or the header, if the item
 * has the revision that was shown. Throws the problem with which it is refused.
 */
export async function runForm (
  responding: Responding, { action, id, params }: FormCommand
): Promise<RanCommand & {
  /** Answers with what it made, as other representations do. */
  answer (): Promise<void>
}> {
  const exchange = toExchange(responding)
  const outcome = await runCommand(exchange, makeCommand(exchange, { action, target: id, params }))
  return {
    ...showRan(exchange, outcome),
    async answer () {
      if (id === undefined) await answerCreated(exchange, outcome)
      else await answerEntry(exchange, outcome, outcome.record.outcome === 'done', findNoun(exchange, action))
    }
  }
}

function findNoun ({ mount: { family: { operations, lifecycle } } }: Exchange, action: string): string | undefined {
  return (operations.get(action) ?? lifecycle?.deletion)?.operation.noun
}

/** Runs one of several commands of a form, each under its own key. */
export async function runOneOf (
  { mount, request }: Pick<Responding, 'mount' | 'request'>,
  { action, id, params, key, revision }: FormCommand & {
    readonly key?: string | undefined
    /** That the page showed. */
    readonly revision: string
  }
): Promise<RanCommand> {
  const own = mountOf(mount)
  const { family } = own
  const outcome = await execute(family, own.caller(request), {
    action,
    target: id,
    params,
    key,
    precondition (current) {
      if (String(current.revision) === revision) return
      throw preconditionFailed(family.singular, current.revision, `; revision ${revision} was shown`)
    }
  })
  return showRan({ mount: own, request }, outcome)
}

/** Another item that a command would change or create, which the caller may read before and after. */
export interface PreviewedItem {
  readonly mount: FamilyMount
  readonly id: Id
  /** Undefined for a new item, whose id is only known when it is made. */
  readonly before: Stored | undefined
  readonly after: Stored
}

/** What the command of a form would do now. */
export interface FormPreview {
  /** Undefined if the item would be gone. */
  readonly after: Stored | undefined
  readonly others: readonly PreviewedItem[]
}

/** Undefined if it would change nothing, or be refused: running it says why. */
export async function previewForm (
  responding: Responding, { action, id, params }: FormCommand
): Promise<FormPreview | undefined> {
  const exchange = toExchange(responding)
  const { mount, request } = exchange
  const command = makeCommand(exchange, { action, target: id, params })
  const { decision, others } = await preview(mount.family, mount.caller(request), command)
  if (decision.outcome !== 'done') return undefined
  const { after } = decision
  const [grant, ...shown] = await Promise.all([
    findReading(exchange, id), ...others.map(other => previewOther(exchange, other))
  ] as const)
  return { after: after && hideIn(narrowFamily(mount.family, grant?.hide), after), others: shown.flat() }
}

/** More may be hidden from who reads the item than from who changes it. */
async function findReading ({ mount: { family, caller }, request }: Exchange, id: Id | undefined) {
  return await findGrant({ family, caller: caller(request) }, intendToRead(family, id), [], undefined)
}

/** Only if the caller may read the item before and after: permission to change it is not enough. */
async function previewOther (
  { mount }: Exchange, { family, caller, id, before, after }: PreviewedOther
): Promise<PreviewedItem[]> {
  const there = family === mount.family ? mount : mount.neighbours.find(family.name, mount)
  const both = before === undefined ? [after] : [before, after]
  const grant = there && await findGrant({ family, caller }, intendToRead(family, id), both, undefined)
  if (there === undefined || grant === undefined) return []
  const shown = narrowFamily(there.family, grant.hide)
  return [{ mount: there.as(shown).shown, id, before: before && hideIn(shown, before), after: hideIn(shown, after) }]
}

/** What a change of an item is, as its log shows it. */
export function findChanges (mount: FamilyMount, before: Members, after: Members): FieldChanges {
  return listChanges(mountOf(mount).family.ownFields, before, after)
}
