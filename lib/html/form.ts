import type { Members } from '../exports.js'
import type {
  FormAffordance, Many, ManyAffordance, ManyItem, Refusal, SampleRequest, WrongState
} from '../pages/affordances.js'
import type { ShownProblem } from '../pages/views.js'
import { formatError, renderInputs, toFieldId } from './fields.js'
import { type Content, type Markup, markup, renderHidden, renderTerms } from './markup.js'
import {
  formatNumber, nameDone, nameField, nameOperation, namePart, nameSingular, nameState, type Words
} from './words.js'

/** A button that acts at once, or that opens the form if something has to be entered. */
export function renderOperation (words: Words, form: FormAffordance): Markup {
  const { name, title, action, isRefused, danger, fields } = form
  const label = nameOperation(words, form)
  const text = name === 'edit' && words.labels.operations?.['edit'] === undefined ? words.texts.save : label
  const button = markup`<button type="submit"${danger === true && markup` class="danger"`}>${text}</button>`
  if (fields.length === 0) {
    return markup`<form method="post" action="${action}" class="operation">
${renderInputs(words, form)}${button}
</form>
`
  }
  const hint = title === undefined || name === 'edit' ? undefined : words.translate(title)
  return markup`<details class="operation${danger === true && ' danger'}" name="operation"${isRefused && markup` open`}>
<summary id="${name}.title">${label}</summary>
<form method="post" action="${action}" aria-labelledby="${name}.title">
${hint !== undefined && hint !== label && markup`<p class="hint">${hint}</p>
`}<div class="inputs">
${renderInputs(words, form)}
</div>
${button}
</form>
</details>
`
}

/** The requests of all buttons, as command lines for a POSIX shell. */
export function renderRequests (words: Words, forms: readonly FormAffordance[]): Content {
  const shown = forms.filter(({ request }) => request !== undefined)
  return shown.length > 0 && markup`<details class="requests">
<summary>${words.texts.requests}</summary>
<p class="hint">${words.texts.requestsHint}</p>
${shown.map(form => markup`<p><strong>${nameOperation(words, form)}</strong></p>
${renderRequest(form.request as SampleRequest)}
`)}</details>`
}

export function renderRequest ({ method, url, headers, body }: SampleRequest): Markup {
  let line = `curl -X ${method} ${quote(url)}`
  for (const [name, value] of Object.entries(headers)) line += ` -H ${quote(`${name}: ${value}`)}`
  // Invisible and bidirectional characters are written as escapes.
  const json = body && JSON.stringify(body)
    .replace(unseen, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
  if (json !== undefined) line += ` -d ${quote(json)}`
  // The script inserts the host of the page into a relative URL.
  const start = url.startsWith('/') ? line.indexOf("'") + 1 : 0
  const origin = start > 0 && markup`<span class="origin"></span>`
  return markup`<code class="curl">${line.slice(0, start)}${origin}${line.slice(start)}</code>`
}

/** Quotes any text as one word of a shell. */
export function quote (text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

const unseen = /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g

/** `meanwhile` is shown after the reason. It has the focus, so that screen readers begin with it. */
export function renderRefusal (
  words: Words,
  refused: Refusal | undefined,
  forms: readonly Pick<FormAffordance, 'name' | 'fields'>[],
  meanwhile: Content = undefined
): Content {
  if (refused === undefined) return undefined
  const { texts } = words
  const { problem, entered, wrongState } = refused
  const wrong = forms.flatMap(({ name: form, fields }) =>
    fields.flatMap(field => [field, ...field.rows?.flat() ?? []])
      .filter(({ error }) => error !== undefined).map(field => ({ form, field })))
  const links = wrong.map(({ form, field }) =>
    markup`<a href="#${toFieldId(form, field.name)}">${formatError(words, field, true)}</a>`)
  const isShown = (path: string | undefined) => wrong.some(({ field: { name, line, isRowError } }) => {
    const own = name.replace('_find.', '')
    const its = isRowError === true ? own.replace(/\.[^.]*$/, '') : line === undefined ? own : `${own}.${line - 1}`
    return path === own || path === its
  })
  const others = listErrors(words, problem).filter(({ name }) => !isShown(name?.replaceAll('/', '.')))
  const flaws = [...links, ...others.map(({ text }) => text)]
  const reason = flaws.length > 0
    ? markup`<strong>${texts.invalid}</strong>`
    : renderReason(words, problem, wrongState)
  return markup`<div class="refused" role="alert" tabindex="-1" autofocus>
<p dir="auto">${reason}</p>
${flaws.length > 0 && renderTexts(flaws)}${meanwhile}
${renderEntered(words, entered)}
</div>`
}

/** So that entered values are not lost. */
function renderEntered (words: Words, entered: readonly (readonly [name: string, value: string])[]): Content {
  const shown = entered.filter(([, value]) => value.trim() !== '')
  return shown.length > 0 && markup`<p>${words.texts.entered}</p>
${renderTerms(shown.map(([name, value]) => [nameField(words, name.replace('_find.', '')), value]))}`
}

export function renderProblem (words: Words, view: ShownProblem, signIn: string | undefined): Markup {
  const { document: problem, log, wrongState, entered = [], again } = view
  const { texts } = words
  const errors = listErrors(words, problem).map(({ text }) => text)
  const [text] = errors.length === 1 ? errors : [formatDetail(words, problem, wrongState)]
  return markup`<div class="refused" role="alert"><p dir="auto">${text}</p></div>
${errors.length > 1 && renderTexts(errors)}
${log !== undefined && markup`<p>${texts.wasDeleted} <a href="${log}">${texts.logOfDeleted}</a></p>`}
${renderEntered(words, entered)}
${signIn !== undefined && markup`<p>${again !== undefined && `${texts.signInFirst} `}<a href="${signIn}"${
  again !== undefined && markup` target="_blank" rel="noopener"`}>${texts.signIn}</a></p>`}
${again !== undefined && markup`<form method="post" action="${again.action}" class="again">
${renderHidden(again.sent)}<button type="submit">${texts.sendAgain}</button>
</form>`}
<p class="hint">${texts.status(Number(problem.status))}</p>`
}

function listErrors (words: Words, { errors = [], more }: Members): { name?: string, text: string }[] {
  const { texts } = words
  const flaws = errors as { parameter?: string, pointer?: string, detail: string }[]
  const named = flaws.map(({ parameter, pointer = '', detail }) => {
    if (parameter !== undefined) return { name: parameter, text: words.translate(detail) }
    const name = pointer.slice(1)
    const [field = '', ...path] = name.split('/')
    // People count from one.
    const inside = path.map(part => /^\d+$/.test(part) ? String(Number(part) + 1) : namePart(words, field, part))
    const subject = [nameField(words, field), ...inside].join(' ')
    return { name, text: texts.sentence(name === '' ? texts.it : subject, words.translate(detail)) }
  })
  return more === undefined ? named : [...named, { text: texts.more(Number(more)) }]
}

function renderTexts (texts: readonly Content[]): Markup {
  return markup`<ul>
${texts.map(text => markup`<li dir="auto">${text}</li>
`)}</ul>`
}

export function formatReason (words: Words, reason: string, wrongState: WrongState | undefined): string {
  if (wrongState === undefined) return words.translate(reason)
  const { singular, state } = wrongState
  const named = state === undefined ? undefined : nameState(words, state)
  return words.texts.wrongState(nameSingular(words, singular), named)
}

function formatDetail (words: Words, { detail }: Members, wrongState: WrongState | undefined): string {
  const reason = formatReason(words, String(detail), wrongState)
  if (wrongState === undefined) return reason
  const { allowed, singular } = wrongState
  return `${reason} ${words.texts.possible(allowed.map(name => nameOperation(words, { name, singular })))}`
}

function renderReason (words: Words, problem: Members, wrongState: WrongState | undefined): Markup {
  const { texts } = words
  // People do not know about the precondition: the page sent it.
  if (problem.type === 'urn:dealbook:problem:precondition-failed') {
    return markup`<strong>${texts.changedMeanwhile}</strong> ${texts.changedMeanwhileDetail}`
  }
  const refused = wrongState === undefined
    ? words.translate(String(problem.title))
    : texts.refused(nameOperation(words, { ...wrongState, name: wrongState.operation }))
  return markup`<strong>${refused}.</strong> ${formatDetail(words, problem, wrongState)}`
}

/** The form of an operation for several items, or the outcome of each. */
export function renderManyItems (words: Words, { form, items, isDone, list, from, refused }: Many): Markup {
  const { texts } = words
  const shown = markup`<ul class="many">
${items.map(item => markup`<li${item.outcome !== undefined && markup` class="${item.outcome}"`}>
<a href="${item.href}"><bdi>${item.title}</bdi></a>
${isDone && markup`<span>${showDoneItem(words, form, item)}</span>`}</li>
`)}</ul>`
  if (isDone) return markup`${shown}<p><a href="${list}">${texts.back}</a></p>`
  const hint = form.title === undefined ? undefined : words.translate(form.title)
  const selected = items.map(({ id, revision }) => [`_item.${id}`, revision] as const)
  // This page asks for confirmation, so that no other has to.
  return markup`${renderRefusal(words, refused, [form])}
<p>${texts.selectedItems(formatNumber(words, items.length))}</p>
${shown}
${form.final === true && markup`<p><strong>${texts.final}</strong></p>`}
<form method="post" action="${form.action}" class="confirm">
${hint !== undefined && markup`<p class="hint">${hint}</p>
`}<input type="hidden" name="_operation" value="${form.name}"><input type="hidden" name="_ready" value="yes">
${renderHidden([['_from', from], ...selected])}<div class="inputs">
${renderInputs(words, { ...form, danger: false, final: false })}
</div>
<a class="button" href="${list}"${form.fields.length === 0 && markup` autofocus`}>${texts.leave}</a>
<button type="submit"${form.danger === true && markup` class="danger"`}>${nameOperation(words, form)}</button>
</form>`
}

function showDoneItem (words: Words, form: Many['form'], item: ManyItem): Content {
  const { outcome, reason, isStale, wrongState } = item
  if (outcome === undefined) return words.texts.unknownResult
  if (isStale === true) return words.texts.changedMeanwhile
  if (outcome === 'refused') return formatReason(words, reason ?? '', wrongState)
  return outcome === 'unchanged' ? words.texts.unchanged : nameDone(words, form)
}

/** The checkboxes of the rows belong to this form. */
export function renderMany (words: Words, { action, from, operations }: ManyAffordance): Markup {
  const { texts } = words
  return markup`<form method="post" action="${action}" id="many" class="many">
${renderHidden([['_from', from]])}<label for="many-operation">${texts.withSelected}</label>
<select id="many-operation" name="_operation"><option value="">${texts.choose}</option>${operations.map(operation =>
  markup`<option value="${operation.name}">${nameOperation(words, operation)}</option>`)}</select>
<button type="submit">${texts.go}</button>
</form>`
}
