import { isDeepStrictEqual } from 'node:util'
import { readDateTime, writeInTurns } from '../exports.js'
import type {
  Feedback, Home, ItemAffordances, Live, LogEntry, LoggedItem, ShownChange, ShownMember, TakeBack
} from '../pages/affordances.js'
import { formatReason } from './form.js'
import { type Content, type Markup, markup, renderHidden, renderLink, renderTerms } from './markup.js'
import { fold, renderShort, renderValue } from './values.js'
import {
  findDay, findDayOf, formatDate, nameDone, nameField, nameOperation, nameSingular, withLabels, type Words
} from './words.js'

/** @param isWhole whether long values are shown in full */
export async function renderTimeline (words: Words, entries: readonly LogEntry[], isWhole = false): Promise<Markup> {
  return markup`<ol class="timeline">
${await writeInTurns(entries, entry => renderEntry(words, entry, isWhole))}</ol>`
}

function renderEntry (page: Words, entry: LogEntry, isWhole: boolean): Markup {
  const { texts } = page
  const { outcome, href, then, at, principal, revision, item: its, about, reason, wrongState } = entry
  const words = its === undefined ? page : withLabels(page, its.labels)
  const on = its && markup` · <bdi>${renderLink(its.href, nameLoggedItem(words, entry.singular, its))}</bdi>`
  const { changes, params } = omitRepeated(entry)
  const by = principal !== undefined && markup` · <bdi>${texts.by(principal)}</bdi>`
  const theirs = about && withLabels(words, about.labels)
  // The operation, and its parameters, are of the family that the command was for.
  const what = theirs && about
    ? describeOutcome(theirs, { ...entry, singular: about.singular })
    : describeOutcome(words, entry)
  const beside = theirs && about && texts.togetherWith(texts.item(nameSingular(theirs, about.singular), about.id))
  const item = beside !== undefined && markup` · <bdi>${renderLink(about?.href, beside)}</bdi>`
  return markup`<li class="${outcome}">
<p class="what"><strong>${what}</strong>${on} ${href !== undefined &&
  markup`<a class="revision" href="${href}">${texts.revision(revision)}</a>`}${then !== undefined &&
  markup` <a class="revision" href="${then}">${texts.asItWas}</a>`}</p>
<p class="hint">${renderValue(words, at, { kind: 'date-time', isLong: true })}${by}${item}</p>
${its?.restore && renderTakeBack(texts.restore, its.restore)}${
  reason !== undefined && markup`<p dir="auto">${formatReason(words, reason, wrongState)}</p>
`}${renderChanges(words, changes, isWhole)}${renderParams(theirs ?? words, params)}</li>
`
}

// A title is enough where all are of one family.
function nameLoggedItem (words: Words, singular: string, { id, title, isShared }: LoggedItem): string {
  const isNamed = title !== undefined && title !== id
  return isNamed && !isShared ? title : words.texts.item(nameSingular(words, singular), title ?? id)
}

type EntryDetails = Pick<LogEntry, 'changes' | 'params'>

/** Drops params that repeat a change (newPrice became price), and changes without values that repeat a param. */
export function omitRepeated ({ changes, params }: EntryDetails): EntryDetails {
  return {
    changes: changes.filter(change => isKnown(change) || !params.some(({ name }) => name === change.name)),
    params: params.filter(param => !changes.some(({ name, to }) =>
      to !== undefined && lastWord(name) === lastWord(param.name) &&
      isDeepStrictEqual(to, param.kind === 'date-time' ? readDateTime(String(param.value)) : param.value)))
  }
}

function isKnown ({ from, to }: ShownChange): boolean {
  return from !== undefined || to !== undefined
}

function lastWord (name: string): string | undefined {
  return /[A-Z]?[^A-Z_-]*$/.exec(name)?.[0].toLowerCase()
}

// The page of the entry has the whole text.
const maxText = 1000
const maxChange = 200

export function renderChanges (words: Words, changes: readonly ShownChange[], isWhole = false): Content {
  const { texts } = words
  return renderTerms(changes.map(change => {
    const { from, to, referred, omitted = [] } = change
    const isShown = isKnown(change) && (isWhole || (!isLongChange(from) && !isLongChange(to)))
    const show = (end: 'from' | 'to'): Content => {
      if (omitted.includes(end)) return texts.notLogged
      const shown = { ...change, referred: referred?.[end] }
      return isWhole
        ? fold(words, renderValue(words, change[end], shown))
        : renderShort(words, change[end], shown, maxChange)
    }
    const both = isShown && markup`<bdi class="before">${show('from')}</bdi> → <bdi>${show('to')}</bdi>`
    return [nameField(words, change.name), isShown ? both : texts.changed]
  }), 'changes')
}

/** Whether it would be a long table. */
function isLongChange (value: unknown): boolean {
  return typeof value === 'object' && value !== null && JSON.stringify(value).length > maxChange
}

export function renderParams (words: Words, params: readonly ShownMember[]): Content {
  return renderTerms(params.map(param =>
    [nameField(words, param.name, param.title), fold(words, renderShort(words, param.value, param, maxText))]))
}

function describeOutcome (words: Words, feedback: Feedback): string {
  const { outcome } = feedback
  if (outcome === 'unchanged') return words.texts.unchanged
  return outcome === 'refused' ? words.texts.refused(nameOperation(words, feedback)) : nameDone(words, feedback)
}

/** For the title of a page; undefined if nothing has just happened. */
export function describeResult (
  words: Words,
  { feedback, refused }: Pick<ItemAffordances, 'feedback' | 'refused'>
): string | undefined {
  if (refused !== undefined) return words.texts.notDone
  return feedback && describeOutcome(words, feedback)
}

/** It has the focus, so that screen readers begin with it. */
export function renderMessage (words: Words, feedback: Feedback): Markup {
  const { texts } = words
  const { revision, current = revision, log, undo } = feedback
  return markup`<div class="message" role="status" tabindex="-1" autofocus>
<p>${describeOutcome(words, feedback)}.${current > revision && ` ${texts.changedSince(current)}`}${
  log !== undefined && markup` <a href="${log}">${texts.logOfDeleted}</a>`}</p>
${undo && renderTakeBack(texts.undo, undo)}</div>`
}

function renderTakeBack (text: string, { action, entered }: TakeBack): Markup {
  return markup`<form method="post" action="${action}" class="operation">
${renderHidden(entered)}<button type="submit">${text}</button>
</form>
`
}

/** Entries under their days, in the zone of the page; the script moves them where it is that of the reader. */
export async function renderDays (words: Words, entries: readonly LogEntry[], level: 2 | 3 = 2): Promise<Markup> {
  const { texts } = words
  const days: { readonly day: string, readonly entries: LogEntry[] }[] = []
  for (const entry of entries) {
    const day = findDayOf(words, entry.at)
    const last = days.at(-1)
    if (last?.day === day) last.entries.push(entry)
    else days.push({ day, entries: [entry] })
  }
  const sections = await Promise.all(days.map(async ({ day, entries }) => markup`<section>
<h${level}>${nameDay(words, day)}</h${level}>
${await renderTimeline(words, entries)}
</section>
`))
  return markup`<div class="days" data-today="${texts.today}" data-yesterday="${texts.yesterday}">
${sections}</div>`
}

function nameDay (words: Words, day: string): string {
  if (day === findDay(words, 0)) return words.texts.today
  return day === findDay(words, 1) ? words.texts.yesterday : formatDate(words, day)
}

/** Empty until the script knows of something new. */
export function renderLive ({ texts }: Words, { href, actions, show, revision }: Live): Markup {
  const text = revision === undefined ? texts.newEntries('{}') : texts.changedNow('{}')
  const item = revision !== undefined && markup` data-revision="${revision}" data-someone="${texts.someone}"`
  return markup`<div class="live" aria-live="polite" data-follow="${href}"
data-actions="${actions.join(' ')}" data-text="${text}"${item}>
<p hidden><span></span> <a href="${show}">${revision === undefined ? texts.showNew : texts.showChange}</a></p>
</div>`
}

export async function renderRecent (words: Words, activity: Home['activity']): Promise<Content> {
  if (activity === undefined || activity.entries.length === 0) return undefined
  const { href, entries } = activity
  const { texts } = words
  return markup`<section class="recently" aria-labelledby="activity">
<h2 id="activity">${texts.activity}</h2>
${await renderDays(words, entries, 3)}
${href !== undefined && markup`<p><a href="${href}">${texts.allActivity}</a></p>`}
</section>`
}
