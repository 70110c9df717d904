import type { Document, FormOffer, Refusal } from '../representation.js'
import { fieldId } from './form.js'
import { markup } from './markup.js'
import type { Markup } from './markup.js'
import { label, sentence } from './values.js'

/** Over a page whose form was refused: why, with the way to each field that is wrong. */
export function refusal (refused: Refusal | undefined, forms: readonly Pick<FormOffer, 'name' | 'fields'>[]): Markup | undefined {
  if (refused === undefined) return undefined
  const { problem, entered } = refused
  const wrong = forms.flatMap(({ name: form, fields }) => fields.filter(({ error }) => error !== undefined).map(field => ({ form, field })))
  const others = sentencesOf(problem).filter(({ name }) => !wrong.some(({ field }) => field.name === name))
  return markup`<div class="refused" role="alert">
<p>${wrong.length + others.length > 0 ? markup`<strong>Some of what you entered is not right.</strong>` : reason(problem)}</p>
${wrong.length + others.length > 0 && markup`<ul>
${wrong.map(({ form, field }) => markup`<li><a href="#${fieldId(form, field.name)}">${sentence(label(field.label), field.error as string)}</a></li>
`)}${others.map(({ text }) => markup`<li>${text}</li>
`)}</ul>`}
${entered.length > 0 && markup`<p>You had entered:</p>
<dl>
${entered.map(([name, value]) => markup`<dt>${label(name)}</dt><dd>${value}</dd>
`)}</dl>`}
</div>`
}

/** All that a problem says is wrong, one sentence for each. */
export function sentencesOf ({ errors = [] }: Document): { name: string, text: string }[] {
  return (errors as { parameter?: string, pointer?: string, detail: string }[]).map(({ parameter, pointer = '', detail }) => parameter === undefined
    ? { name: pointer.slice(1), text: sentence(pointer === '' ? 'It' : label(pointer.slice(1)), detail) }
    : { name: parameter, text: detail })
}

function reason ({ type, title, detail }: Document): Markup {
  // A person sent no precondition; the page did, with what it showed.
  if (type === 'urn:dealbook:problem:precondition-failed') return markup`<strong>Somebody changed it in the meantime.</strong> Nothing was done. This is how it is now.`
  return markup`<strong>${String(title)}.</strong> ${String(detail)}`
}
