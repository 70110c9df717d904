import { isDeepStrictEqual } from 'node:util'
import { readDateTime } from '../core/values/dates.js'
import { writeInTurns } from '../representations/in-turns.js'
import type { LogEntry, ShownChange, ShownMember } from '../representations/item-view.js'
import type { Content, Markup } from './markup.js'
import { markup } from './markup.js'
import { describeOutcome } from './message.js'
import { formatReason } from './refusal.js'
import type { Texts } from './texts.js'
import { renderValue, shorten } from './values.js'

/** Renders entries of a log one after another: who did what, when, and what it changed. */
export async function renderTimeline (texts: Texts, entries: readonly LogEntry[]): Promise<Markup> {
  return markup`<ol class="timeline">
${await writeInTurns(entries, entry => renderEntry(texts, entry))}</ol>`
}

function renderEntry (texts: Texts, entry: LogEntry): Markup {
  const { outcome, href, at, principal, revision, about, reason, wrongState } = entry
  const { changes, params } = omitRepeated(entry)
  const by = principal !== undefined && markup` <bdi>${texts.by(principal)}</bdi>`
  return markup`<li class="${outcome}">
<p class="what"><strong>${describeOutcome(texts, entry)}</strong> <a href="${href}">${texts.revision(revision)}</a></p>
<p class="hint">${renderValue(texts, at, 'date-time')}${by}${about && renderAbout(texts, about)}</p>
${reason !== undefined && markup`<p dir="auto">${formatReason(texts, reason, wrongState)}</p>
`}${renderChanges(texts, changes)}${renderGiven(texts, params)}</li>
`
}

function renderAbout (texts: Texts, { singular, id, href }: NonNullable<LogEntry['about']>): Markup {
  const name = texts.togetherWith(texts.item(texts.label(singular), id))
  return markup` <bdi>${href === undefined ? name : markup`<a href="${href}">${name}</a>`}</bdi>`
}

type Described = Pick<LogEntry, 'changes' | 'params'>

/**
 * What was changed and what was sent, with nothing in both: a reason that became the holdReason, a newPrice that became
 * the price. A change without known values is left out where a parameter has its name.
 */
export function omitRepeated ({ changes, params }: Described): Described {
  return {
    changes: changes.filter(change => isKnown(change) || !params.some(({ name }) => name === change.name)),
    params: params.filter(param => !changes.some(({ name, to }) =>
      to !== undefined && lastWord(name) === lastWord(param.name) && isDeepStrictEqual(to, readKept(param))))
  }
}

function isKnown ({ from, to }: ShownChange): boolean {
  return from !== undefined || to !== undefined
}

// As an item keeps what was sent.
function readKept ({ value, kind }: ShownMember): unknown {
  return kind === 'date-time' && typeof value === 'string' ? readDateTime(value) : value
}

function lastWord (name: string): string | undefined {
  return /[A-Z]?[^A-Z_-]*$/.exec(name)?.[0].toLowerCase()
}

/** Renders members as they were before and are after. */
export function renderChanges (texts: Texts, changes: readonly ShownChange[]): Content {
  return changes.length > 0 && markup`<dl class="changes">
${changes.map(change => markup`<dt>${texts.label(change.name)}</dt><dd>${renderChange(texts, change)}</dd>
`)}</dl>
`
}

function renderChange (texts: Texts, change: ShownChange): Markup {
  const { from, to, kind } = change
  if (!isKnown(change)) return markup`${texts.changed}`
  const show = (value: unknown) => renderShort(texts, value, kind)
  return markup`<bdi class="before">${show(from)}</bdi> → <bdi>${show(to)}</bdi>`
}

/** Renders what was sent along. */
export function renderGiven (texts: Texts, params: readonly ShownMember[]): Content {
  return params.length > 0 && markup`<dl>
${params.map(({ name, value, kind }) =>
  markup`<dt>${texts.label(name)}</dt><dd dir="auto">${renderShort(texts, value, kind)}</dd>
`)}</dl>
`
}

// The entry itself has all of it.
const maxText = 1000

function renderShort (texts: Texts, value: unknown, kind: ShownMember['kind']): Content {
  const shown = renderValue(texts, value, kind)
  return typeof shown === 'string' ? shorten(shown, maxText) : shown
}
