import type { SampleRequest } from '../item-view.js'
import type { FormAffordance } from '../representation.js'
import { renderCurl } from './curl.js'
import { renderField } from './form.js'
import type { Content, Markup } from './markup.js'
import { markup } from './markup.js'
import type { Texts } from './texts.js'

/** Renders an operation that is folded up until somebody wants it, or it was refused. */
export function renderOperation (texts: Texts, form: FormAffordance): Markup {
  const { name, title, isRefused } = form
  const label = nameForm(texts, form)
  return markup`<details class="operation"${isRefused && markup` open`}>
<summary id="${name}.title">${label}</summary>
${renderForm(texts, form, title === label ? false : markup`<p class="hint">${title}</p>`)}
</details>`
}

/** Renders a form that POSTs, with what was entered and what was wrong with it. Its title stands elsewhere. */
export function renderForm (texts: Texts, form: FormAffordance, head: Content): Markup {
  const { name, action, fields, key, revision, danger, final, requests } = form
  const asks = danger === true || final === true
  return markup`<form method="post" action="${action}" aria-labelledby="${name}.title">
${head}
<input type="hidden" name="_key" value="${key}">${revision !== undefined && markup`
<input type="hidden" name="_revision" value="${revision}">`}${asks && markup`
<input type="hidden" name="_confirm" value="ask">`}
${fields.map(field => renderField(texts, field, name))}
<button type="submit"${danger === true && markup` class="danger"`}>${nameForm(texts, form)}</button>
${asks && renderDialog(texts, form)}
${renderRequests(texts, requests)}
</form>`
}

/** What the button of a form says. */
export function nameForm (texts: Texts, { name, singular }: FormAffordance): string {
  return texts.submit(texts.label(name), texts.label(singular))
}

// Without a script nobody sees it, and a page asks.
function renderDialog (texts: Texts, form: FormAffordance): Markup {
  const { name, final, danger } = form
  const label = nameForm(texts, form)
  return markup`<dialog aria-labelledby="${name}.ask">
<h3 id="${name}.ask">${texts.ask(label)}</h3>
${renderWarning(texts, form)}
<dl class="entered"></dl>
<button type="submit"${(danger === true || final === true) && markup` class="danger"`}>${label}</button>
<button type="button" class="plain">${texts.leave}</button>
</dialog>`
}

/** Renders what is to be known before it is done. */
export function renderWarning (texts: Texts, { name, title, singular, final }: FormAffordance): Markup {
  return markup`<p>${name === 'delete' ? texts.willBeGone(texts.label(singular)) : title}</p>
${final === true && markup`<p><strong>${texts.final}</strong></p>`}`
}

function renderRequests (texts: Texts, requests: readonly SampleRequest[]): Content {
  return requests.length > 0 && markup`<details class="requests">
<summary>${texts.asRequest}</summary>
<p class="hint">${texts.asRequestHint}</p>
<dl>
${requests.map(request => markup`<dt>${texts.form(request.form)}</dt><dd>${renderCurl(request)}</dd>
`)}</dl>
</details>`
}
