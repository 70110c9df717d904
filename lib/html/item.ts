import type { Members, OneView } from '../exports.js'
import type { ChangedItem, Confirmation, ItemAffordances, RelatedList } from '../pages/affordances.js'
import { renderChildren } from './children.js'
import { formatReason, renderOperation, renderRefusal, renderRequests } from './form.js'
import { type Content, type Markup, markup, renderHidden, renderLink, renderTerms } from './markup.js'
import { renderNow, renderPast } from './past.js'
import {
  omitRepeated, renderChanges, renderLive, renderMessage, renderParams, renderTimeline
} from './timeline.js'
import { fold, renderValue } from './values.js'
import { formatCount, nameField, nameOperation, namePlural, nameSingular, withLabels, type Words } from './words.js'

export async function renderItem (words: Words, view: OneView, affordances?: ItemAffordances): Promise<Content> {
  const { document, name: singular } = view
  const { texts } = words
  if (affordances === undefined) return renderMembers(words, document, undefined)
  const { operations, unavailable, log, refused, technical, feedback, entry, related, children, title } = affordances
  const { live, past } = affordances
  if (entry !== undefined) return await renderEntryPage(words, document, affordances)
  // The heading has the title, unless it is different now.
  const isListed = (name: string): boolean => name !== title || title === 'id' || past?.now[title] !== undefined
  const members = Object.entries(document).filter(([name]) => isListed(name))
  const select = (isTechnical: boolean) =>
    Object.fromEntries(members.filter(([name]) => technical.includes(name) === isTechnical))
  const dangerous = operations.filter(({ danger }) => danger === true)
  const usual = operations.filter(({ danger }) => danger !== true)
  const meanwhile = refused !== undefined && refused.meanwhile.length > 0 && markup`
<h2>${texts.changesOfOthers}</h2>
${await renderTimeline(words, refused.meanwhile)}`
  return markup`${feedback && renderMessage(words, feedback)}${past && renderPast(words, past)}
${renderRefusal(words, refused, operations, meanwhile)}
${live && renderLive(words, live)}
<div class="item${log === undefined && ' alone'}">
<div class="about">
${renderMembers(words, select(false), affordances)}
${renderChildren(words, children)}${operations.length > 0 &&
  markup`<section class="operations" aria-labelledby="operations">
<h2 id="operations">${texts.operations}</h2>
<div class="actions">
${usual.map(operation => renderOperation(words, operation))}${dangerous.length > 0 && markup`<div class="apart">
${dangerous.map(operation => renderOperation(words, operation))}</div>
`}</div>
</section>`}
${renderSection(texts.unavailable, renderTerms(unavailable.map(({ name, reason, wrongState }) =>
  [nameOperation(words, { name, singular }), formatReason(words, reason, wrongState)]), 'unavailable'))}
${related.length > 0 && renderSection(texts.related, renderRelated(words, related))}
${renderSection(texts.technical, renderMembers(words, select(true), affordances))}
${renderRequests(words, operations)}
</div>
${log && markup`<section class="log" aria-labelledby="log">
<h2 id="log">${texts.log}</h2>
${await renderTimeline(words, log.entries)}
<p><a href="${log.href}">${texts.wholeLog}</a></p>
</section>`}
</div>`
}

/** The page of a command in a log. */
async function renderEntryPage (words: Words, document: Members, affordances: ItemAffordances): Promise<Content> {
  const { entry } = affordances
  // The entry shows them in a better form than JSON.
  const { params, changes, problem, ...members } = document
  return entry && markup`${await renderTimeline(words, [entry], true)}
<h2>${words.texts.technical}</h2>
${renderMembers(words, members, affordances)}`
}

function renderRelated (words: Words, related: readonly RelatedList[]): Markup {
  return markup`<ul class="related">
${related.map(list => {
  const theirs = withLabels(words, list.labels)
  const plural = namePlural(theirs, list.name)
  const name = list.field === undefined ? plural : `${plural}, ${nameField(theirs, list.field)}`
  return markup`<li><a href="${list.href}">${words.texts.relatedList(name, formatCount(words, list))}</a></li>
`
})}</ul>`
}

// A link to the page itself is left out; a link named like a member is shown on that member.
function renderMembers (words: Words, document: Members, affordances: ItemAffordances | undefined): Content {
  const { kinds = {}, referred = {}, inRows, entry, past } = affordances ?? {}
  const { links = {}, ...members } = document as { links?: Record<string, string> }
  const linkOf = (name: string) => Object.hasOwn(links, name) ? links[name] : undefined
  const others = Object.entries(links).filter(([rel, href]) => href !== entry?.href && !Object.hasOwn(members, rel))
  return renderTerms([
    ...Object.entries(members).map(([name, value]) => {
      const its = Object.hasOwn(referred, name) ? referred[name] : undefined
      const content = renderValue(words, value, { kind: kinds[name], referred: its, name, kinds, inRows, isLong: true })
      const href = its === undefined ? linkOf(name) : undefined
      const shown = href === undefined ? fold(words, content) : renderLink(href, content)
      return [
        nameField(words, name),
        past === undefined ? shown : renderNow(words, past, name, shown, { kind: kinds[name], name, kinds, inRows })
      ] as const
    }),
    ...others.filter(([rel]) => !Object.hasOwn(referred, rel))
      .map(([rel, href]) => [nameField(words, rel), renderLink(href, href)] as const)
  ])
}

export function renderConfirmation (
  words: Words,
  title: string,
  { form, item, entered, others, ...asked }: Confirmation
): Markup {
  const { texts } = words
  const { name, singular, title: summary, final, action } = form
  const { changes, params } = omitRepeated(asked)
  const warning = name === 'delete'
    ? texts.willBeGone(nameSingular(words, singular))
    : summary === undefined ? undefined : words.translate(summary)
  // The safe choice comes first, and has the focus.
  return markup`<p dir="auto"><a href="${item}">${title}</a></p>
${warning !== undefined && markup`<p>${warning}</p>`}
${final === true && markup`<p><strong>${texts.final}</strong></p>`}
${renderSection(texts.whatChanges, renderChanges(words, changes))}
${others.map(other => renderOther(words, other))}
${renderSection(texts.yourEntries, renderParams(words, params))}
<form method="post" action="${action}" class="confirm">
${renderHidden(entered)}<a class="button" href="${item}" autofocus>${texts.leave}</a>
<button type="submit" class="danger">${nameOperation(words, form)}</button>
</form>`
}

function renderOther (words: Words, { singular, labels, title, href, changes, isNew }: ChangedItem): Markup {
  const { texts } = words
  const theirs = withLabels(words, labels)
  return markup`<h2>${isNew ? texts.createsToo : texts.changesToo}</h2>
<p dir="auto">${renderLink(href, texts.item(nameSingular(theirs, singular), title))}</p>
${renderChanges(theirs, changes)}`
}

function renderSection (heading: string, content: Content): Content {
  return content !== false && markup`<h2>${heading}</h2>
${content}`
}
