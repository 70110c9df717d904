import type { Members } from '../core/values/json.js'
import type { FormAffordance, Refusal, WrongState } from '../representations/affordances.js'
import type { ProblemView } from '../representations/representation.js'
import { labelField, nameForm, toFieldId } from './form.js'
import type { Content, Markup } from './markup.js'
import { markup, renderTerms } from './markup.js'
import type { Texts } from './texts.js'

/** Renders why a request was refused, as a page. */
export function renderProblem (texts: Texts, { document: problem, log, wrongState }: ProblemView): Markup {
  const errors = listErrors(texts, problem)
  const text = errors.length === 1 ? errors[0]?.text : formatDetail(texts, problem, wrongState)
  return markup`<div class="refused" role="alert"><p dir="auto">${text}</p></div>
${errors.length > 1 && renderTexts([...errors.map(({ text }) => text), ...formatMore(texts, problem)])}
${log !== undefined && markup`<p>${texts.wasDeleted} <a href="${log}">${texts.logOfDeleted}</a></p>`}
<p class="hint">${texts.status(Number(problem.status))}</p>`
}

/** Renders, above a page whose form was refused, why it was, with a link to each field that is wrong. */
export function renderRefusal (
  texts: Texts,
  refused: Refusal | undefined,
  forms: readonly Pick<FormAffordance, 'name' | 'fields'>[]
): Markup | undefined {
  if (refused === undefined) return undefined
  const { problem, entered, wrongState } = refused
  const wrong = forms.flatMap(({ name: form, fields }) =>
    fields.filter(({ error }) => error !== undefined).map(field => ({ form, field })))
  const others = listErrors(texts, problem).filter(({ name }) => !wrong.some(({ field }) => field.name === name))
  const links = wrong.map(({ form, field }) => {
    const text = texts.sentence(labelField(texts, field), texts.flaw(field.error as string))
    return markup`<a href="#${toFieldId(form, field.name)}">${text}</a>`
  })
  const flaws = [...links, ...others.map(({ text }) => text), ...formatMore(texts, problem)]
  const reason = flaws.length === 0
    ? renderReason(texts, problem, wrongState)
    : markup`<strong>${texts.invalid}</strong>`
  return markup`<div class="refused" role="alert" tabindex="-1" autofocus>
<p dir="auto">${reason}</p>
${flaws.length > 0 && renderTexts(flaws)}
${entered.length > 0 && markup`<p>${texts.entered}</p>
${renderTerms(entered.map(([name, value]) => [texts.label(name), value]))}`}
</div>`
}

// Everything that is wrong, one sentence for each.
function listErrors (texts: Texts, { errors = [] }: Members): { name: string, text: string }[] {
  return (errors as { parameter?: string, pointer?: string, detail: string }[])
    .map(({ parameter, pointer = '', detail }) => {
      if (parameter !== undefined) return { name: parameter, text: texts.flaw(detail) }
      const name = pointer.slice(1)
      return { name, text: texts.sentence(name === '' ? texts.it : texts.label(name), texts.flaw(detail)) }
    })
}

function formatMore (texts: Texts, { more }: Members): string[] {
  return more === undefined ? [] : [texts.more(Number(more))]
}

function renderTexts (texts: readonly Content[]): Markup {
  return markup`<ul>
${texts.map(text => markup`<li dir="auto">${text}</li>
`)}</ul>`
}

/** Why something is refused: in the words of the pages, where it is for the state alone. */
export function formatReason (texts: Texts, reason: string, wrongState: WrongState | undefined): string {
  if (wrongState === undefined) return reason
  const { singular, state } = wrongState
  return texts.wrongState(texts.label(singular), state === undefined ? undefined : texts.choice(state))
}

/** The same, with what is possible instead. */
function formatDetail (texts: Texts, { detail }: Members, wrongState: WrongState | undefined): string {
  const reason = formatReason(texts, String(detail), wrongState)
  if (wrongState === undefined) return reason
  const { allowed, singular } = wrongState
  return `${reason} ${texts.possible(allowed.map(name => nameForm(texts, { name, singular })))}`
}

function renderReason (texts: Texts, problem: Members, wrongState: WrongState | undefined): Markup {
  const { type, title } = problem
  // A person sent no precondition; the page did, with what it showed.
  if (type === 'urn:dealbook:problem:precondition-failed') {
    return markup`<strong>${texts.changedMeanwhile}</strong> ${texts.changedMeanwhileDetail}`
  }
  const refused = wrongState === undefined
    ? `${String(title)}.`
    : texts.refused(nameForm(texts, { ...wrongState, name: wrongState.operation }))
  return markup`<strong>${refused}</strong> ${formatDetail(texts, problem, wrongState)}`
}
