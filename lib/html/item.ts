import { isDeepStrictEqual } from 'node:util'
import { readDateTime } from '../core/values/formats.js'
import type { Members } from '../core/values/json.js'
import type {
  ChangedItem, Confirmation, Feedback, ItemAffordances, Kinds, LogEntry, ShownChange, ShownMember
} from '../representations/affordances.js'
import { type OneView, writeInTurns } from '../representations/representation.js'
import { formatReason, nameForm, renderOperation, renderRefusal } from './form.js'
import { type Content, type Markup, markup, renderLink, renderShort, renderTerms, renderValue } from './markup.js'
import type { Texts } from './texts.js'

export async function renderItem (texts: Texts, view: OneView, affordances?: ItemAffordances): Promise<Content> {
  const { document, name: singular } = view
  if (affordances === undefined) return renderMembers(texts, document, {})
  const { operations, unavailable, log, refused, kinds, technical, feedback, entry } = affordances
  const members = Object.entries(document).filter(([name]) => entry === undefined || !shownByEntry.includes(name))
  const select = (isTechnical: boolean) =>
    Object.fromEntries(members.filter(([name]) => technical.includes(name) === isTechnical))
  return markup`${feedback && renderMessage(texts, feedback)}
${renderRefusal(texts, refused, operations)}
${entry && markup`${await renderTimeline(texts, [entry])}
<h2>${texts.technical}</h2>`}
${renderMembers(texts, select(false), kinds, entry?.href)}
${operations.length > 0 && markup`<section class="operations" aria-labelledby="operations">
<h2 id="operations">${texts.operations}</h2>
${operations.map(operation => renderOperation(texts, operation))}
</section>`}
${renderPart(texts.unavailable, renderTerms(unavailable.map(({ name, reason, wrongState }) =>
  [nameForm(texts, { name, singular }), formatReason(texts, reason, wrongState)])))}
${log && markup`<h2>${texts.log}</h2>
${await renderTimeline(texts, log.entries)}
<p><a href="${log.href}">${texts.wholeLog}</a></p>`}
${renderPart(texts.technical, renderMembers(texts, select(true), kinds))}`
}

// Members that an entry shows better than as JSON.
const shownByEntry = ['params', 'problem']

// A link to the page itself is left out; a link named like a member is shown on that member.
function renderMembers (texts: Texts, document: Members, kinds: Kinds, here?: string): Content {
  const { links = {}, ...members } = document as { links?: Record<string, string> }
  const linkOf = (name: string) => Object.hasOwn(links, name) ? links[name] : undefined
  const others = Object.entries(links).filter(([rel, href]) => href !== here && !Object.hasOwn(members, rel))
  return renderTerms([
    ...Object.entries(members).map(([name, value]) =>
      [texts.label(name), renderLink(linkOf(name), renderValue(texts, value, kinds[name]))] as const),
    ...others.map(([rel, href]) => [texts.label(rel), renderLink(href, href)] as const)
  ])
}

export function renderConfirmation (
  texts: Texts,
  title: string,
  { form, item, entered, others, ...asked }: Confirmation
): Markup {
  const { name, singular, title: summary, final, action } = form
  const { changes, params } = omitRepeated(asked)
  const warning = name === 'delete' ? texts.willBeGone(texts.label(singular)) : summary
  return markup`<p dir="auto"><a href="${item}">${title}</a></p>
${warning !== undefined && markup`<p>${warning}</p>`}
${final === true && markup`<p><strong>${texts.final}</strong></p>`}
${renderPart(texts.whatChanges, renderChanges(texts, changes))}
${others.map(other => renderOther(texts, other))}
${renderPart(texts.yourEntries, renderParams(texts, params))}
<form method="post" action="${action}" class="confirm">
${entered.map(([name, value]) => markup`<input type="hidden" name="${name}" value="${value}">
`)}<button type="submit" class="danger">${nameForm(texts, form)}</button>
<a href="${item}">${texts.leave}</a>
</form>`
}

function renderOther (texts: Texts, { singular, title, href, changes, isNew }: ChangedItem): Markup {
  return markup`<h2>${isNew ? texts.createsToo : texts.changesToo}</h2>
<p dir="auto">${renderLink(href, texts.item(texts.label(singular), title))}</p>
${renderChanges(texts, changes)}`
}

function renderPart (heading: string, content: Content): Content {
  return content !== false && markup`<h2>${heading}</h2>
${content}`
}

export async function renderTimeline (texts: Texts, entries: readonly LogEntry[]): Promise<Markup> {
  return markup`<ol class="timeline">
${await writeInTurns(entries, entry => renderEntry(texts, entry))}</ol>`
}

function renderEntry (texts: Texts, entry: LogEntry): Markup {
  const { outcome, href, at, principal, revision, about, reason, wrongState } = entry
  const { changes, params } = omitRepeated(entry)
  const by = principal !== undefined && markup` <bdi>${texts.by(principal)}</bdi>`
  const beside = about && texts.togetherWith(texts.item(texts.label(about.singular), about.id))
  const item = about && markup` <bdi>${renderLink(about.href, beside)}</bdi>`
  return markup`<li class="${outcome}">
<p class="what"><strong>${describeOutcome(texts, entry)}</strong> <a href="${href}">${texts.revision(revision)}</a></p>
<p class="hint">${renderValue(texts, at, 'date-time')}${by}${item}</p>
${reason !== undefined && markup`<p dir="auto">${formatReason(texts, reason, wrongState)}</p>
`}${renderChanges(texts, changes)}${renderParams(texts, params)}</li>
`
}

type Described = Pick<LogEntry, 'changes' | 'params'>

/** Drops params that repeat a change (newPrice became price), and changes without values that repeat a param. */
function omitRepeated ({ changes, params }: Described): Described {
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

// The page of the entry shows the whole text.
const maxText = 1000

function renderChanges (texts: Texts, changes: readonly ShownChange[]): Content {
  return renderTerms(changes.map(change => {
    const [from, to] = [change.from, change.to].map(value => renderShort(texts, value, change.kind, maxText))
    const shown = markup`<bdi class="before">${from}</bdi> → <bdi>${to}</bdi>`
    return [texts.label(change.name), isKnown(change) ? shown : texts.changed]
  }), 'changes')
}

function renderParams (texts: Texts, params: readonly ShownMember[]): Content {
  return renderTerms(params.map(({ name, value, kind }) =>
    [texts.label(name), renderShort(texts, value, kind, maxText)]))
}

function describeOutcome (texts: Texts, feedback: Feedback): string {
  const { name, outcome } = feedback
  if (outcome === 'unchanged') return texts.unchanged
  if (outcome === 'refused') return texts.refused(nameForm(texts, feedback))
  if (name === 'create') return texts.created
  return name === 'delete' ? texts.deleted : texts.done(nameForm(texts, feedback))
}

/** For the title of a page; undefined where nothing has just happened. */
export function describeResult (
  texts: Texts,
  { feedback, refused }: Pick<ItemAffordances, 'feedback' | 'refused'>
): string | undefined {
  if (refused !== undefined) return texts.notDone
  if (feedback === undefined) return undefined
  const { name, outcome, revision } = feedback
  const done = describeOutcome(texts, feedback)
  return outcome === 'done' && name !== 'create' && name !== 'delete' ? `${done} ${texts.revision(revision)}` : done
}

/** It has the focus, so that screen readers begin with it. */
export function renderMessage (texts: Texts, feedback: Feedback): Markup {
  const { revision, current = revision, log } = feedback
  return markup`<div class="message" role="status" tabindex="-1" autofocus>
<p>${describeResult(texts, { feedback })}${current > revision && ` ${texts.changedSince(current)}`}${
  log !== undefined && markup` <a href="${log}">${texts.logOfDeleted}</a>`}</p>
</div>`
}
