/** The style of all pages, light or dark as the reader's system. On a phone, each row of a list is a card. */
export const style = `
:root {
  color-scheme: light dark; --ink: #1b1f24; --faint: #59626d; --line: #dce1e7; --field: #8a939e; --paper: #ffffff;
  --panel: #f5f7f9; --accent: #0a58ca; --brand: #0a58ca; --on-brand: #ffffff; --radius: .375rem;
  --neutral: #45505c; --good: #146c2e; --warning: #8a5300; --bad: #b3261e; --done: #5b4a9c;
  --neutral-paper: #eef1f4; --good-paper: #e5f4e9; --warning-paper: #fdf1dc; --bad-paper: #fcebea; --done-paper: #efecfa
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --ink: #e6e9ec; --faint: #a2acb7; --line: #333b44; --field: #76818d; --paper: #14171a; --panel: #1c2126;
    --accent: #86b7ff; --brand: #2b6fd6; --on-brand: #ffffff;
    --neutral: #c3ccd6; --good: #7fd197; --warning: #f2bd6b; --bad: #ff9d95; --done: #c0b3f5;
    --neutral-paper: #272e35; --good-paper: #16301e; --warning-paper: #382a12; --bad-paper: #3b1f1d;
      --done-paper: #292443
  }
}
* { box-sizing: border-box }
[hidden] { display: none !important }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
body {
  margin: 0; font: .9375rem/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
    overflow-wrap: anywhere
}
header, main, footer { --side: max(1.5rem, calc(50% - 46.5rem)); padding: 0 var(--side) }
header { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: center; min-height: 3.25rem;
  padding-top: .5rem;
  padding-bottom: .5rem; border-bottom: 1px solid var(--line); box-shadow: inset 0 3px var(--brand) }
header img { display: block; height: 2rem; max-width: 12rem; object-fit: contain }
a { color: var(--accent); text-underline-offset: .15em }
header a, th a, .states a, .chips a { text-decoration: none }
header a:hover { text-decoration: underline }
header strong { font-size: 1.0625rem }
header strong a { color: inherit }
.families a { display: block; padding: .25rem 0; color: var(--faint) }
.families a[aria-current] { color: var(--ink); font-weight: 600; box-shadow: inset 0 -2px var(--brand) }
.account { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin-left: auto; color: var(--faint) }
.skip { position: absolute; left: .5rem; top: -4rem; padding: .5rem 1rem; background: var(--paper); z-index: 1 }
.skip:focus { top: .5rem }
nav ul, nav ol, .counts, .related, .values { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: 0; padding: 0;
  list-style: none }
.trail { margin-top: 1rem; font-size: .875rem }
.trail ol { gap: 0 }
.trail li + li::before { content: "›"; color: var(--faint); margin: 0 .5rem }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0 1rem; letter-spacing: -.01em }
.trail + h1 { margin-top: .25rem }
h2, h3 { font-size: 1rem; margin: 1.5rem 0 .5rem }
.days h2, h3 { font-size: .9375rem; color: var(--faint) }
p { margin: 0 0 .75rem }
.hint, .ago, .absent, dt, footer { color: var(--faint) }
.hint { font-size: .875rem; font-weight: 400; display: block }
.ago { font-size: .875rem }
.then { background: var(--warning-paper) }
.past a { margin-inline-end: 1rem }
.message.past { background: var(--neutral-paper); border-color: var(--neutral) }
.number, td.number, time { white-space: nowrap; font-variant-numeric: tabular-nums }
footer { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; padding-top: 2rem; padding-bottom: 2rem;
  font-size: .875rem }
.badge {
  display: inline-block; font-size: .8125rem; font-weight: 600; line-height: 1.25rem; vertical-align: middle;
  letter-spacing: 0; white-space: nowrap; padding: 0 .5rem; border-radius: var(--radius)
}
.neutral { color: var(--neutral); background: var(--neutral-paper) }
.good { color: var(--good); background: var(--good-paper) }
.warning { color: var(--warning); background: var(--warning-paper) }
.bad { color: var(--bad); background: var(--bad-paper) }
.badge.done { color: var(--done); background: var(--done-paper) }
div.refused, .message {
  background: var(--bad-paper); border-left: .25rem solid var(--bad); border-radius: var(--radius);
    padding: .75rem 1rem;
  margin: 0 0 1rem
}
.message { background: var(--good-paper); border-color: var(--good); font-weight: 600 }
.live { position: fixed; right: 1rem; bottom: 1rem; z-index: 1; max-width: calc(100% - 2rem); pointer-events: none }
.live p {
  margin: 0; padding: .5rem 1rem; color: var(--neutral); background: var(--neutral-paper); pointer-events: auto;
  border: 1px solid var(--field); border-radius: var(--radius); animation: 1s pass
}
@keyframes pass { from, to { pointer-events: none } }
.message:focus, .refused:focus { outline: none }
.message p, .refused p:last-child, .refused ul, .timeline p, .home h2 { margin: 0 }
div.refused > p strong, .error, .theirs { color: var(--bad) }
div.refused ul:not(.values) { padding-left: 1.25rem }
div.refused dl { margin-top: .25rem }
dl { display: grid; grid-template-columns: minmax(7rem, 12rem) minmax(0, 1fr); gap: .25rem 1.5rem; margin: 0 }
dt { hyphens: auto }
dd { margin: 0; white-space: pre-wrap; container-type: inline-size }
dd > * { white-space: normal }
dd .long { white-space: pre-wrap }
.long > summary { color: inherit; white-space: normal; list-style: none }
.long > summary span { color: var(--accent) }
.long[open] > summary { display: none }
summary { cursor: pointer; color: var(--accent) }
form { margin: 0 }
label, legend { display: block; font-weight: 600; font-size: .875rem; padding: 0 }
.field { display: flex; flex-direction: column; margin-bottom: .75rem }
.field > .hint, .field > .theirs { order: 1 }
fieldset { border: 0; margin: 0 0 .75rem; padding: 0; min-width: 0; grid-column: 1 / -1; container-type: inline-size }
.group { border-left: 2px solid var(--line); padding-left: 1rem }
input, select, textarea {
  width: 100%; min-height: 2.25rem; font: inherit; color: inherit; background: var(--paper);
    border: 1px solid var(--field);
  border-radius: var(--radius); padding: .25rem .5rem
}
input[type=checkbox] { width: 1.125rem; min-height: 1.125rem; height: 1.125rem; margin: 0; accent-color: var(--brand) }
textarea { min-height: 4.5rem; display: block }
[aria-invalid] { border-color: var(--bad); border-width: 2px }
.error, .theirs { font-weight: 600; font-size: .875rem; display: block }
button, .button, .create > summary, .operation > summary, .bar > details > summary, .find > details > summary {
  display: inline-block; min-height: 2.25rem; font: inherit; font-weight: 600; color: var(--on-brand);
    background: var(--brand);
  border: 1px solid var(--brand); border-radius: var(--radius); padding: .3125rem .875rem; cursor: pointer;
  text-decoration: none; white-space: normal; list-style: none
}
.button, button.plain, .operation > summary, form.operation > button, .bar button, .bar details > summary {
  color: var(--ink); background: var(--paper); border-color: var(--field)
}
.button:hover, .operation > summary:hover, form.operation > button:hover { background: var(--panel) }
button.danger, .danger > summary, form.operation > button.danger { color: var(--bad); background: var(--paper);
  border-color: var(--bad) }
.operation > summary::after, .create > summary::after, .filter > summary::after, .columns > summary::after {
  content: "▾"; margin-left: .5rem; font-weight: 400
}
.inputs { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(16rem, 100%), 1fr)); gap: 0 1rem }
.inputs > .field:has(textarea) { grid-column: 1 / -1; max-width: 48rem }
.create > form, .operation > form, .panel {
  background: var(--panel); border: 1px solid var(--line); border-radius: var(--radius); padding: 1rem;
    margin: .5rem 0 1rem
}
.states ul { gap: .25rem; border-bottom: 1px solid var(--line); margin-bottom: .75rem }
.states a { display: flex; align-items: center; gap: .375rem; padding: .375rem .75rem; color: var(--faint) }
.states a:hover { color: var(--ink) }
.states [aria-current] { color: var(--ink); font-weight: 600; box-shadow: inset 0 -2px var(--brand) }
.dot { width: .5rem; height: .5rem; border-radius: 50%; background: currentColor }
.dot.done { color: var(--done) }
.count { font-weight: 400; font-variant-numeric: tabular-nums; color: var(--faint) }
.create { margin: 0 0 .75rem }
@media (min-width: 40rem) {
  h1 + .create { margin-top: -3.25rem }
  .create > summary { display: table; margin-left: auto }
}
.find { display: contents }
.bar { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin-bottom: .5rem }
.find > input { flex: 1 1 12rem; max-width: 24rem }
.export { margin-left: auto }
.bar > details[open], .find > details[open], .actions details[open] { display: contents }
.bar > details::details-content, .find > details::details-content, .actions details::details-content {
  flex-basis: 100%; order: 1 }
.bar details[open] > summary, .actions details[open] > summary { box-shadow: inset 0 -2px var(--brand) }
.recent { color: var(--faint); font-size: .875rem }
.recent a { margin-left: .25rem }
.panel .more > summary { display: list-item; color: var(--accent); background: none; border: 0; padding: 0;
  margin-bottom: .5rem; list-style: disclosure-closed inside }
.panel .more > summary::after { content: none }
.more { margin-bottom: .75rem }
.checks { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: .25rem 1rem;
  margin-bottom: .75rem }
.checks label { display: flex; gap: .5rem; align-items: center; font-weight: 400 }
.chips ul { gap: .25rem .5rem; align-items: center; margin: .25rem 0 .75rem }
.chips a:not(.clear) {
  display: inline-block; border: 1px solid var(--line); border-radius: var(--radius); padding: 0 .5rem;
    color: var(--ink);
  background: var(--panel); max-width: 100%
}
.chips span { color: var(--faint) }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100% }
table.few { width: auto; min-width: min(100%, 36rem) }
th, td { text-align: start; vertical-align: top; padding: .3125rem 1rem .3125rem 0;
  border-bottom: 1px solid var(--line) }
th:last-child, td:last-child { padding-right: 0 }
th { white-space: nowrap; font-size: .8125rem; color: var(--faint); font-weight: 600 }
th a { color: inherit }
th[aria-sort] a { color: var(--accent) }
.list tbody tr:hover { background: var(--panel) }
td { max-width: 24rem; overflow-wrap: break-word }
td.text > div, td.title > div {
  display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; line-clamp: 2; overflow: hidden
}
td a:focus-visible { outline-offset: -3px }
td.title { min-width: 9rem; font-weight: 600 }
td.title a { color: var(--ink); text-decoration: none }
td.title a:hover { text-decoration: underline }
td.long { max-width: 10rem }
td.long > div { overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
td.check { width: 1.75rem; padding-right: .5rem }
td.check input { display: block; margin-top: .1875rem }
td.number, th.number { text-align: end; max-width: none }
td.moment { max-width: none }
.rows { width: auto; font-size: .875rem }
@container (max-width: 36rem) {
  .rows, .rows tbody, .rows tfoot, .rows td { display: block; text-align: start }
  .rows thead { display: none }
  .rows tr { display: flex; flex-wrap: wrap; gap: 0 .75rem; padding: .25rem 0; border-bottom: 1px solid var(--line) }
  .rows td { border: 0; padding: 0; min-width: 0; overflow-wrap: anywhere }
  .rows td::before { content: attr(data-label) " "; color: var(--faint) }
  .rows td:empty { display: none }
  fieldset .rows td { flex: 1 1 8rem; margin-bottom: .25rem }
  fieldset .rows td::before { display: block }
  fieldset .rows td.remove { flex: 0 0 auto; align-self: end }
}
fieldset .rows { width: 100% }
.rows tfoot td { font-weight: 600 }
.rows td.remove { width: 1% }
.remove button { padding: .3125rem .625rem }
.rows input, .rows select { min-width: 6rem }
.empty { padding: 2rem 0; color: var(--faint) }
td.actions { display: table-cell; white-space: normal }
.actions form { display: inline-block }
nav.pages { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: .75rem 0; align-items: baseline;
  font-size: .875rem }
nav.pages .range { font-variant-numeric: tabular-nums }
nav.pages .size { color: var(--faint); margin-left: auto }
nav.pages strong { color: var(--ink) }
form.many { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: .75rem 0 }
form.many select { width: auto; max-width: 100% }
ul.many { padding-left: 1.25rem }
ul.many .refused span { color: var(--bad) }
.home { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(18rem, 100%), 1fr)); gap: 1rem; margin: 0;
  padding: 0; list-style: none }
.home > li { border: 1px solid var(--line); border-radius: var(--radius); padding: 1rem }
.home p { color: var(--faint); margin: .25rem 0 .75rem }
.counts { flex-direction: column }
.counts a { text-decoration: none }
.item { display: grid; gap: 0 3rem }
.item.alone { max-width: 60rem }
@media (min-width: 64rem) { .item:not(.alone) {
  grid-template-columns: minmax(0, 1fr) minmax(20rem, 28rem) } .log h2 { margin-top: 0 } }
.actions { display: flex; flex-wrap: wrap; gap: .5rem; align-items: flex-start }
.apart { display: flex; flex-wrap: wrap; gap: .5rem; flex-basis: 100%; margin-top: .25rem; padding-top: .75rem;
  border-top: 1px solid var(--line) }
.actions > .apart { order: 2 }
.unavailable { font-size: .875rem }
.requests { margin-top: 1.5rem }
.requests p { margin: .75rem 0 .25rem; font-size: .875rem }
.curl {
  display: block; font-size: .8125rem; white-space: pre-wrap; padding: .5rem .75rem; background: var(--panel);
  border-radius: var(--radius)
}
.confirm { margin-top: 1.5rem }
.timeline { list-style: none; margin: 0; padding: 0 0 0 1.25rem; border-left: 2px solid var(--line) }
.timeline > li { position: relative; padding-bottom: 1rem }
.timeline > li::before {
  content: ""; position: absolute; left: -1.625rem; top: .4375rem; width: .625rem; height: .625rem; border-radius: 50%;
  background: var(--accent); outline: 2px solid var(--paper)
}
.timeline .refused strong { color: var(--bad) }
.timeline .refused::before { background: var(--bad) }
.timeline .unchanged::before { background: var(--faint) }
.timeline .revision { font-size: .8125rem; color: var(--faint); margin-left: .25rem }
.timeline dl { font-size: .875rem; margin-top: .25rem; gap: 0 1rem;
  grid-template-columns: minmax(5rem, min(10rem, 35%)) minmax(0, 1fr) }
.timeline dl + dl { margin-top: 0 }
.changes .before { color: var(--faint); text-decoration: line-through }
@media (max-width: 40rem) {
  header, main, footer { --side: 1rem }
  .account { margin-left: 0 }
  .export { margin-left: 0 }
  nav.pages .size { margin-left: 0 }
  .list thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
    white-space: nowrap }
  .list, .list tbody { display: block }
  .list tbody tr {
    display: flex; flex-wrap: wrap; gap: 0 .75rem; align-items: baseline; padding: .5rem 0;
      border-bottom: 1px solid var(--line)
  }
  .list td { display: block; border: 0; padding: 0; max-width: 100%; width: auto; text-align: start;
    overflow-wrap: anywhere }
  .list td.title { flex: 1 1 50%; font-size: 1rem; min-width: 0 }
  .list td.text, .list td.number, .list td.moment, .list td.long { font-size: .8125rem; color: var(--faint) }
  .list td.text::before, .list td.number::before, .list td.moment::before, .list td.long::before {
    content: attr(data-label) " "; font-size: .75rem
  }
  .list td > div { display: inline !important }
  .list td:has(.absent) { display: none }
  dl { grid-template-columns: minmax(5rem, 8.5rem) minmax(0, 1fr); column-gap: 1rem }
}
@media print {
  form, .bar, .operations, .unavailable, h2:has(+ .unavailable), .message, .live, nav:not(.chips), .requests, .create,
  .check, .chips .clear, .chips span, .skip, .account, footer span:not(.zone) { display: none !important }
  :root { color-scheme: light }
  header, main, footer { --side: 0 }
  body { font-size: 10pt }
  .item { display: block !important }
  tr { break-inside: avoid }
}
`

// Contrast as in WCAG 2.2, 1.4.3. Few lines, so that no package is needed.

/** The background of pages, light and dark. */
export const papers = ['#ffffff', '#14171a'] as const

const black = '#000000'
const white = '#ffffff'

/** Enough for text. */
const enoughContrast = 4.5

export function isColor (text: unknown): text is string {
  return typeof text === 'string' && /^#([\da-f]{3}|[\da-f]{6})$/i.test(text)
}

function readColor (text: string): number[] {
  const digits = text.length === 4 ? text.slice(1).replace(/./g, '$&$&') : text.slice(1)
  return [0, 2, 4].map(start => Number.parseInt(digits.slice(start, start + 2), 16))
}

function measureLight (color: readonly number[]): number {
  const [red = 0, green = 0, blue = 0] = color.map(part => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

export function measureContrast (one: string, other: string): number {
  const [low = 0, high = 0] = [one, other].map(color => measureLight(readColor(color))).sort((a, b) => a - b)
  return (high + 0.05) / (low + 0.05)
}

/** The text that can be read on a colour: black or white. */
export function findInk (color: string): string {
  return measureContrast(color, white) >= measureContrast(color, black) ? white : black
}

/** The nearest shade of a colour that can be read on a background. */
export function adjustColor (color: string, paper: string): string {
  const towards = readColor(findInk(paper))
  const parts = readColor(color)
  for (let share = 0; share < 1; share += 0.02) {
    const adjusted = parts.map((part, index) => Math.round(part + ((towards[index] ?? 0) - part) * share))
    const text = `#${adjusted.map(part => part.toString(16).padStart(2, '0')).join('')}`
    if (measureContrast(text, paper) >= enoughContrast) return text
  }
  return findInk(paper)
}
