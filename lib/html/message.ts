import type { Feedback } from '../representations/item-view.js'
import type { ItemAffordances } from '../representations/representation.js'
import type { Markup } from './markup.js'
import { markup } from './markup.js'
import { nameForm } from './operation.js'
import type { Texts } from './texts.js'

/** What was done, in a few words. */
export function describeOutcome (texts: Texts, feedback: Feedback): string {
  const { name, outcome } = feedback
  if (outcome === 'unchanged') return texts.unchanged
  if (outcome === 'refused') return texts.refused(nameForm(texts, feedback))
  if (name === 'create') return texts.created
  return name === 'delete' ? texts.deleted : texts.done(nameForm(texts, feedback))
}

/** The message on the page that follows. */
function describeFeedback (texts: Texts, feedback: Feedback): string {
  const { name, outcome, revision } = feedback
  const done = describeOutcome(texts, feedback)
  return outcome === 'done' && name !== 'create' && name !== 'delete' ? `${done} ${texts.revision(revision)}` : done
}

/** What has just happened, for the title of a page; undefined where nothing has. */
export function describeResult (
  texts: Texts,
  { feedback, refused }: Pick<ItemAffordances, 'feedback' | 'refused'>
): string | undefined {
  if (refused !== undefined) return texts.notDone
  return feedback && describeFeedback(texts, feedback)
}

/** Renders the message. It has the focus, so that screen readers begin with it. */
export function renderMessage (texts: Texts, feedback: Feedback): Markup {
  const { revision, current = revision, log } = feedback
  return markup`<div class="message" role="status" tabindex="-1" autofocus>
<p>${describeFeedback(texts, feedback)}${current > revision && ` ${texts.changedSince(current)}`}${
  log !== undefined && markup` <a href="${log}">${texts.logOfDeleted}</a>`}</p>
</div>`
}
