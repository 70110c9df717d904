import { isDeepStrictEqual } from 'node:util'
import { writeInTurns } from '../in-turns.js'
import type { LogEntry, ShownChange, ShownMember } from '../item-view.js'
import type { Content, Markup } from './markup.js'
import { markup } from './markup.js'
import { tellDone } from './message.js'
import type { Texts } from './texts.js'
import { renderValue } from './values.js'

/** Renders entries of a log one after another: who did what, when, and what it changed. */
export async function renderTimeline (texts: Texts, entries: readonly LogEntry[]): Promise<Markup> {
  return markup`<ol class="timeline">
${await writeInTurns(entries, entry => renderEntry(texts, entry))}</ol>`
}

function renderEntry (texts: Texts, entry: LogEntry): Markup {
  const { outcome, href, at, principal, revision, params, changes, reason } = entry
  // What was sent and is now so is said once.
  const isSaid = ({ name, value }: ShownMember) =>
    changes.some(change => change.name === name && isDeepStrictEqual(change.to, value))
  const rest = params.filter(param => !isSaid(param))
  const by = principal !== undefined && markup` <bdi>${texts.by(principal)}</bdi>`
  return markup`<li class="${outcome}">
<p class="what"><strong>${tellDone(texts, entry)}</strong> <a href="${href}">${texts.revision(revision)}</a></p>
<p class="hint">${renderValue(texts, at, 'date-time')}${by}</p>
${reason !== undefined && markup`<p dir="auto">${reason}</p>
`}${renderChanges(texts, changes)}${renderGiven(texts, rest)}</li>
`
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
  if (from === undefined && to === undefined) return markup`${texts.changed}`
  const show = (value: unknown) => renderValue(texts, value, kind)
  return markup`<bdi class="before">${show(from)}</bdi> → <bdi>${show(to)}</bdi>`
}

/** Renders what was sent along. */
export function renderGiven (texts: Texts, params: readonly ShownMember[]): Content {
  return params.length > 0 && markup`<dl>
${params.map(({ name, value, kind }) =>
  markup`<dt>${texts.label(name)}</dt><dd dir="auto">${renderValue(texts, value, kind)}</dd>
`)}</dl>
`
}
