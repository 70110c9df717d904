/** The look of all pages: small, without images or scripts, light or dark as the reader's system is. */
export const style = `
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
body {
  margin: 0 auto; max-width: 72rem; padding: 1rem 1.25rem 3rem; font: 1rem/1.5 system-ui, sans-serif;
  color: var(--ink); background: var(--paper); overflow-wrap: anywhere
}
header {
  display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: baseline;
  border-bottom: 1px solid var(--line); padding-bottom: .5rem
}
a { color: var(--accent) }
header a { text-decoration: none }
header strong a { color: inherit }
header > a:last-child { margin-left: auto }
.families ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0; padding: 0; list-style: none }
.families a[aria-current] { color: var(--ink); font-weight: 600 }
.trail { margin-top: .75rem; font-size: .875rem }
.trail ol { display: flex; flex-wrap: wrap; margin: 0; padding: 0; list-style: none }
.trail li + li::before { content: "›"; color: var(--faint); margin: 0 .5rem }
a:focus-visible, button:focus-visible, input:focus-visible, select:focus-visible,
textarea:focus-visible, summary:focus-visible, .wide:focus-visible {
  outline: 3px solid var(--accent); outline-offset: 2px
}
h1 { font-size: 1.6rem; line-height: 1.25; margin: 1.25rem 0 .75rem }
h2 { font-size: 1.15rem; margin: 2rem 0 .75rem }
h3 { font-size: 1rem; margin: 0 0 .75rem }
dl { display: grid; grid-template-columns: minmax(7rem, 13rem) 1fr; gap: .35rem 1.5rem; margin: 0 }
dt { color: var(--faint) }
dd { margin: 0; white-space: pre-wrap }
form { background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem }
details { margin: 1rem 0 }
summary { cursor: pointer; color: var(--accent); padding: .25rem 0 }
label { display: block; font-weight: 600 }
.hint, .absent { color: var(--faint); font-weight: 400 }
.hint { font-size: .875rem; display: block }
.field { margin-bottom: .75rem }
input, select, textarea {
  width: 100%; min-height: 2.5rem; font: inherit; color: inherit; background: var(--paper);
  border: 1px solid var(--faint); border-radius: .3rem; padding: .4rem .6rem
}
textarea { min-height: 5rem }
[aria-invalid] { border-color: var(--bad); border-width: 2px }
.error { color: var(--bad); font-weight: 600; display: block }
button {
  min-height: 2.5rem; font: inherit; font-weight: 600; color: var(--on-accent); background: var(--accent);
  border: 1px solid var(--accent); border-radius: .3rem; padding: .4rem 1rem; cursor: pointer
}
button.danger { color: var(--bad); background: transparent; border-color: var(--bad) }
.refused {
  color: var(--bad); background: var(--bad-paper); border: 1px solid var(--bad); border-radius: .5rem;
  padding: .75rem 1rem; margin: 1rem 0
}
.refused p, .refused ul { margin: 0 }
.refused p + p { margin-top: .5rem }
.refused ul { padding-left: 1.25rem }
.refused a { color: inherit }
.refused dl { color: var(--ink) }
footer { margin-top: 2.5rem; color: var(--faint); font-size: .875rem }
@media (max-width: 34rem) {
  header > a:last-child { margin-left: 0 }
  dl { grid-template-columns: minmax(5rem, 8.5rem) 1fr; column-gap: 1rem }
}
`
