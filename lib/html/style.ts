/** The style of problem pages and the base of all others, light or dark as the reader's system. */
export const problemStyle = `
:root {
  color-scheme: light dark; --ink: #1c2024; --faint: #5b6470; --line: #d5dae1; --paper: #fff;
  --panel: #f5f7f9; --accent: #0a58ca; --on-accent: #fff; --bad: #a61b2b; --bad-paper: #fdf0f1
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e8eaed; --faint: #a9b2bd; --line: #3a424c; --paper: #15181c; --panel: #1e2329; --accent: #82b4ff;
    --on-accent: #0b1626; --bad: #ff9aa5; --bad-paper: #34191d
  }
}
* { box-sizing: border-box }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
body {
  margin: 0 auto; max-width: 72rem; padding: 1rem 1.25rem 3rem; font: 1rem/1.5 system-ui, sans-serif;
  color: var(--ink); background: var(--paper); overflow-wrap: anywhere
}
header {
  display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: baseline;
  border-bottom: 1px solid var(--line); padding-bottom: .5rem
}
a { color: var(--accent) }
header a, th a { text-decoration: none }
header strong a { color: inherit }
header > a:last-child { margin-left: auto }
nav ul, nav ol, .states { display: flex; flex-wrap: wrap; gap: .35rem 1rem; margin: 0; padding: 0; list-style: none }
.trail { margin-top: .75rem; font-size: .875rem }
.trail ol { gap: 0 }
.trail li + li::before { content: "›"; color: var(--faint); margin: 0 .5rem }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 1.25rem 0 .75rem }
.hint { color: var(--faint); font-size: .875rem; font-weight: 400; display: block }
div.refused {
  color: var(--bad); background: var(--bad-paper); border: 1px solid var(--bad); border-radius: .5rem;
  padding: .75rem 1rem; margin: 1rem 0
}
div.refused p, div.refused ul { margin: 0 }
div.refused p + p { margin-top: .5rem }
div.refused ul { padding-left: 1.25rem }
div.refused a { color: inherit }
@media (max-width: 34rem) { header > a:last-child { margin-left: 0 } }
@media print {
  form, .operations, .message, nav, footer { display: none }
  body { max-width: none; padding: 0; color: #000; background: #fff }
}
`

/** Added on all other pages; on a phone, each row of a list is a card. */
export const style = `
.families a[aria-current] { color: var(--ink); font-weight: 600 }
h2 { font-size: 1.15rem; margin: 2rem 0 .75rem }
dl { display: grid; grid-template-columns: minmax(7rem, 13rem) 1fr; gap: .35rem 1.5rem; margin: 0 }
dt, .absent { color: var(--faint) }
dd { margin: 0; white-space: pre-wrap }
form, .home > li { background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem }
details { margin: 1rem 0 }
summary { cursor: pointer; color: var(--accent); padding: .25rem 0 }
label { display: block; font-weight: 600 }
.field { margin-bottom: .75rem }
input, select, textarea {
  width: 100%; min-height: 2.5rem; font: inherit; color: inherit; background: var(--paper);
  border: 1px solid var(--faint); border-radius: .3rem; padding: .4rem .6rem
}
textarea { min-height: 5rem }
[aria-invalid] { border-color: var(--bad); border-width: 2px }
.error { color: var(--bad); font-weight: 600; display: block }
button, .tools > details > summary {
  min-height: 2.5rem; font: inherit; font-weight: 600; color: var(--on-accent); background: var(--accent);
  border: 1px solid var(--accent); border-radius: .3rem; padding: .4rem 1rem; cursor: pointer
}
button.danger { color: var(--bad); background: transparent; border-color: var(--bad) }
div.refused dl { color: var(--ink) }
footer { margin-top: 2.5rem; color: var(--faint); font-size: .875rem }
.tools { display: flex; flex-wrap: wrap; gap: .5rem; margin: 0 0 1rem }
.tools > details { margin: 0 }
.tools > details[open] { flex-basis: 100% }
.tools > details > summary { display: inline-block; list-style: none }
.tools > .filter > summary { color: var(--ink); background: none; border-color: var(--faint) }
.tools > details > summary::-webkit-details-marker { display: none }
.tools > details > summary::after { content: "▾"; margin-left: .5rem; font-weight: 400 }
.tools > details[open] > summary { margin-bottom: .5rem }
.tools > details[open] > summary::after { content: "▴" }
.inputs, .filters, .home {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(min(16rem, 100%), 1fr)); gap: 0 1rem
}
.filters { grid-template-columns: repeat(auto-fill, minmax(min(11rem, 100%), 1fr)); align-items: start }
.filters .apply { grid-column: 1 / -1; margin-bottom: 0 }
.chips ul { align-items: baseline; margin-bottom: 1rem }
.chips a:not(.clear) {
  display: inline-block; border: 1px solid var(--line); border-radius: 1rem; padding: .15rem .75rem;
  color: var(--ink); background: var(--panel); text-decoration: none; max-width: 100%
}
.chips span { color: var(--faint) }
.home { gap: 1rem; margin: 0; padding: 0; list-style: none }
.home h2, .message p, .timeline p { margin: 0 }
.home p { margin: .25rem 0 .75rem; color: var(--faint) }
.states .badge { background: var(--paper); color: inherit }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100% }
table.few { width: auto; min-width: min(100%, 32rem) }
th, td { text-align: start; vertical-align: top; padding: .5rem 1.5rem .5rem 0; border-bottom: 1px solid var(--line) }
th:last-child, td:last-child { padding-right: 0 }
th { white-space: nowrap; font-size: .875rem }
th a { color: inherit }
th[aria-sort] a { color: var(--accent) }
tbody tr:hover { background: var(--panel) }
td { max-width: 22rem }
td > div {
  display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; line-clamp: 2; overflow: hidden
}
td a:focus-visible { outline-offset: -3px }
td.title { min-width: 8rem; font-weight: 600 }
td.long { max-width: 10rem }
td.long > div { display: block; text-overflow: ellipsis; white-space: nowrap }
.number { text-align: right }
td.number, td.moment { font-variant-numeric: tabular-nums }
td.moment { white-space: nowrap }
.empty { padding: 1.5rem 0; color: var(--faint) }
nav.pages {
  display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; margin: 1rem 0; align-items: baseline; font-size: .9375rem
}
nav.pages .size { color: var(--faint) }
nav.pages .size + .size { margin-left: auto }
nav.pages strong { color: var(--ink) }
.badge {
  display: inline-block; font-size: .875rem; font-weight: 500; line-height: 1.4; vertical-align: middle;
  white-space: nowrap; padding: .1rem .6rem;
  background: var(--panel); border: 1px solid var(--line); border-radius: 1rem
}
.message {
  background: var(--panel); border: 1px solid var(--accent); border-left-width: .4rem; border-radius: .5rem;
  padding: .75rem 1rem; margin: 1rem 0; font-weight: 600
}
.message:focus, .refused:focus { outline: none }
.operation { border: 1px solid var(--line); border-radius: .5rem; margin: 0 0 .5rem; max-width: 46rem }
.operation > summary { padding: .6rem 1rem; font-weight: 600 }
.operation.danger > summary { color: var(--bad) }
.operation > form { border: 0; border-top: 1px solid var(--line); border-radius: 0 0 .5rem .5rem }
.operation > form > .hint { margin: 0 0 .75rem }
.request { margin: 1rem 0 0 }
.request > summary { font-size: .875rem; padding: 0 }
.curl {
  display: block; font-size: .8125rem; white-space: pre-wrap; margin: .15rem 0 .75rem; padding: .5rem .75rem;
  background: var(--paper); border: 1px solid var(--line); border-radius: .3rem
}
.confirm { margin-top: 1.5rem }
.confirm a { margin-left: .75rem }
.timeline { list-style: none; margin: 0; padding: 0 0 0 1.25rem; border-left: 2px solid var(--line) }
.timeline + h2 { margin-top: 1.25rem }
.timeline li { position: relative; padding-bottom: 1rem }
.timeline li::before {
  content: ""; position: absolute; left: -1.62rem; top: .45rem; width: .65rem; height: .65rem; border-radius: 50%;
  background: var(--accent); border: 2px solid var(--paper)
}
.timeline .refused strong { color: var(--bad) }
.timeline .refused::before { background: var(--bad) }
.timeline .unchanged::before { background: var(--faint) }
.timeline dl { margin-top: .25rem; gap: 0 1rem; grid-template-columns: minmax(5rem, min(10rem, 35%)) 1fr }
.timeline dl + dl { margin-top: 0 }
@media screen { .timeline dd { max-height: 6rem; overflow-y: auto } }
.changes .before { color: var(--faint); text-decoration: line-through }
@media (max-width: 40rem) {
  .wide { overflow-x: visible }
  .wide thead {
    position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap
  }
  .wide table, .wide tbody { display: block }
  .wide tbody tr {
    display: block; border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .75rem; margin-bottom: .75rem
  }
  .wide td {
    display: flex; gap: 1rem; justify-content: space-between; border: 0; padding: .15rem 0; max-width: none;
    text-align: end; white-space: normal
  }
  .wide td::before { content: attr(data-label); color: var(--faint); font-weight: 400; flex: none; max-width: 50% }
  .wide td > div { min-width: 0 }
  .wide td.title { text-align: start; font-size: 1.0625rem }
  .wide td.title::before { content: none }
  nav.pages .size + .size { margin-left: 0 }
  dl { grid-template-columns: minmax(5rem, 8.5rem) 1fr; column-gap: 1rem }
  .confirm a { display: block; margin: .5rem 0 0 }
}
`

/** Pages work without it. It is text, so that no compiler or bundler changes it: the policy has its hash. */
export const script = `
'use strict';
(() => {
  const each = (selector, act) => { for (const element of document.querySelectorAll(selector)) act(element) }

  const localize = (element, text) => {
    if (text === element.textContent) return
    element.title ||= element.textContent
    element.textContent = text
  }
  const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
  const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' })
  const numbers = []
  const formatNumber = text => {
    const least = /\\.(\\d+)$/.exec(text)?.[1].length ?? 0
    const options = { minimumFractionDigits: least, maximumFractionDigits: 20 }
    return (numbers[least] ??= new Intl.NumberFormat(undefined, options)).format(text)
  }
  each('time[datetime]', time => {
    const date = new Date(time.dateTime)
    if (!Number.isNaN(date.getTime())) localize(time, (time.dateTime.length > 10 ? moment : day).format(date))
  })
  each('data.number', data => localize(data, formatNumber(data.value)))
  each('.origin', place => { place.textContent = location.origin })

  // A message is shown once, not again when the page is reloaded or its address is sent to others.
  const address = new URL(location.href)
  if (address.searchParams.has('_command')) {
    address.searchParams.delete('_command')
    history.replaceState(null, '', address)
  }

  // By its attribute: a field could be named like a member of the form.
  document.addEventListener('formdata', ({ target, formData }) => {
    if (target.getAttribute('method') !== 'get') return
    for (const [name, value] of [...formData]) if (value === '') formData.delete(name)
  })
})()
`
