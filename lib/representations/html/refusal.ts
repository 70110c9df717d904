import type { Members } from '../../values/json.js'
import type { FormAffordance, Refusal } from '../representation.js'
import { toFieldId } from './form.js'
import type { Content, Markup } from './markup.js'
import { markup } from './markup.js'
import { toLabel, toSentence } from './values.js'

/** Renders a page that says why a request was refused. */
export function renderProblem (problem: Members): Markup {
  const errors = listErrors(problem)
  const text = errors.length === 1 ? errors[0]?.text : String(problem.detail)
  return markup`<div class="refused" role="alert"><p>${text}</p></div>
${errors.length > 1 && renderTexts([...errors.map(({ text }) => text), ...tellMore(problem)])}
<p class="hint">Status ${Number(problem.status)}</p>`
}

/** Renders, above a page whose form was refused, why it was, with a link to each field that is wrong. */
export function renderRefusal (
  refused: Refusal | undefined,
  forms: readonly Pick<FormAffordance, 'name' | 'fields'>[]
): Markup | undefined {
  if (refused === undefined) return undefined
  const { problem, entered } = refused
  const wrong = forms.flatMap(({ name: form, fields }) =>
    fields.filter(({ error }) => error !== undefined).map(field => ({ form, field })))
  const others = listErrors(problem).filter(({ name }) => !wrong.some(({ field }) => field.name === name))
  const links = wrong.map(({ form, field: { name, label, error } }) =>
    markup`<a href="#${toFieldId(form, name)}">${toSentence(toLabel(label), error as string)}</a>`)
  const texts = [...links, ...others.map(({ text }) => text), ...tellMore(problem)]
  const reason = texts.length === 0
    ? renderReason(problem)
    : markup`<strong>Some of what you entered is not right.</strong>`
  return markup`<div class="refused" role="alert">
<p>${reason}</p>
${texts.length > 0 && renderTexts(texts)}
${entered.length > 0 && markup`<p>You had entered:</p>
<dl>
${entered.map(([name, value]) => markup`<dt>${toLabel(name)}</dt><dd>${value}</dd>
`)}</dl>`}
</div>`
}

// All that a problem says is wrong, one sentence for each.
function listErrors ({ errors = [] }: Members): { name: string, text: string }[] {
  return (errors as { parameter?: string, pointer?: string, detail: string }[])
    .map(({ parameter, pointer = '', detail }) => {
      if (parameter !== undefined) return { name: parameter, text: detail }
      const name = pointer.slice(1)
      return { name, text: toSentence(name === '' ? 'It' : toLabel(name), detail) }
    })
}

function tellMore ({ more }: Members): string[] {
  return more === undefined ? [] : [`and ${Number(more)} more`]
}

function renderTexts (texts: readonly Content[]): Markup {
  return markup`<ul>
${texts.map(text => markup`<li>${text}</li>
`)}</ul>`
}

function renderReason ({ type, title, detail }: Members): Markup {
  // A person sent no precondition; the page did, with what it showed.
  if (type === 'urn:dealbook:problem:precondition-failed') {
    return markup`<strong>Somebody changed it in the meantime.</strong> Nothing was done. This is how it is now.`
  }
  return markup`<strong>${String(title)}.</strong> ${String(detail)}`
}
