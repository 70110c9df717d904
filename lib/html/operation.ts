import type { FormAffordance } from '../representations/form-view.js'
import { renderRequest } from './curl.js'
import { renderInputs } from './form.js'
import type { Markup } from './markup.js'
import { markup } from './markup.js'
import type { Texts } from './texts.js'

/** Renders an operation, which is folded up until it is wanted, or was refused. */
export function renderOperation (texts: Texts, form: FormAffordance): Markup {
  const { name, title, action, isRefused, request, danger } = form
  const label = nameForm(texts, form)
  return markup`<details class="operation${danger === true && ' danger'}"${isRefused && markup` open`}>
<summary id="${name}.title">${label}</summary>
<form method="post" action="${action}" aria-labelledby="${name}.title">
${title !== undefined && title !== label && markup`<p class="hint">${title}</p>`}
${renderInputs(texts, form)}
<button type="submit"${danger === true && markup` class="danger"`}>${label}</button>
${request && renderRequest(texts, request)}
</form>
</details>`
}

/** The text of the button of a form. */
export function nameForm (texts: Texts, { name, singular }: Pick<FormAffordance, 'name' | 'singular'>): string {
  return texts.submit(texts.label(name), texts.label(singular))
}
