import type { FormAffordance } from '../representations/form-view.js'
import type { SampleRequest } from '../representations/item-view.js'
import { renderCurl } from './curl.js'
import { asksFirst, renderInputs } from './form.js'
import type { Content, Markup } from './markup.js'
import { markup } from './markup.js'
import type { Texts } from './texts.js'

/** Renders an operation, which is folded up until somebody wants it, or it was refused. */
export function renderOperation (texts: Texts, form: FormAffordance): Markup {
  const { name, title, action, isRefused, requests, danger } = form
  const label = nameForm(texts, form)
  return markup`<details class="operation${danger === true && ' danger'}"${isRefused && markup` open`}>
<summary id="${name}.title">${label}</summary>
<form method="post" action="${action}" aria-labelledby="${name}.title">
${title !== undefined && title !== label && markup`<p class="hint">${title}</p>`}
${renderInputs(texts, form)}
<button type="submit"${danger === true && markup` class="danger"`}>${label}</button>
${asksFirst(form) && renderDialog(texts, form)}
${renderRequests(texts, requests)}
</form>
</details>`
}

/** What the button of a form says. */
export function nameForm (texts: Texts, { name, singular }: Pick<FormAffordance, 'name' | 'singular'>): string {
  return texts.submit(texts.label(name), texts.label(singular))
}

// Without a script nobody sees it, and a page asks.
function renderDialog (texts: Texts, form: FormAffordance): Markup {
  const { name } = form
  const label = nameForm(texts, form)
  return markup`<dialog aria-labelledby="${name}.ask">
<h3 id="${name}.ask">${texts.ask(label)}</h3>
${renderWarning(texts, form)}
<dl class="entered"></dl>
<button type="submit" class="danger">${label}</button>
<button type="button" class="plain">${texts.leave}</button>
</dialog>`
}

/** Renders what is to be known before it is done. */
export function renderWarning (texts: Texts, { name, title, singular, final }: FormAffordance): Markup {
  const what = name === 'delete' ? texts.willBeGone(texts.label(singular)) : title
  return markup`${what !== undefined && markup`<p>${what}</p>`}
${final === true && markup`<p><strong>${texts.final}</strong></p>`}`
}

/** Renders the requests that do the same as the button of a form. */
export function renderRequests (texts: Texts, requests: readonly SampleRequest[]): Content {
  return requests.length > 0 && markup`<details class="requests">
<summary>${texts.asRequest}</summary>
<p class="hint">${texts.asRequestHint}</p>
<dl>
${requests.map(request => markup`<dt>${texts.form(request.form)}</dt><dd>${renderCurl(request)}</dd>
`)}</dl>
</details>`
}
