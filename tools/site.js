// The documentation as static pages with a search, without a request to any other host: npm run docs:site
// A generator of sites would be larger than the documentation; this takes less than a second.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, posix } from 'node:path'
import MarkdownIt from 'markdown-it'

const root = join(import.meta.dirname, '..')
const out = join(root, 'build/site')
const read = path => readFileSync(join(root, path), 'utf8')

/** Pages by their paths in the repository, with the names of their files in the site. */
const pages = new Map([
  ['README.md', 'index.html'],
  ...readdirSync(join(root, 'docs')).filter(file => file.endsWith('.md') && file !== 'README.md')
    .map(file => [`docs/${file}`, file.replace(/md$/, 'html')]),
  ['docs/README.md', 'contents.html'],
  ['bench/README.md', 'bench.html'],
  ['CHANGELOG.md', 'changelog.html'],
  ['CONTRIBUTING.md', 'contributing.html'],
  ['SECURITY.md', 'reporting.html']
])

/** As GitHub makes the names of headings. */
const toAnchor = text => text.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-')

const markdown = new MarkdownIt({ html: true })
const broken = []
const sections = []

function render (path, file) {
  // Comments have the beginnings of examples, for the compiler.
  const tokens = markdown.parse(read(path).replace(/<!--.*?-->/gs, ''), {})
  let section
  const seen = new Map()
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const text = tokens[index + 1].children.map(({ content }) => content).join('')
      const count = seen.get(toAnchor(text)) ?? 0
      seen.set(toAnchor(text), count + 1)
      const anchor = count === 0 ? toAnchor(text) : `${toAnchor(text)}-${count}`
      token.attrSet('id', anchor)
      section = { page: file, anchor, title: text, text: '' }
      sections.push(section)
    } else if (section !== undefined && /^(inline|fence)$/.test(token.type)) section.text += ` ${token.content}`
    for (const child of token.children ?? []) {
      for (const name of ['href', 'src']) {
        const href = child.attrGet(name)
        if (href !== null) child.attrSet(name, relink(path, href))
      }
    }
  }
  const title = tokens[1]?.content ?? basename(path)
  return { title, content: markdown.renderer.render(tokens, markdown.options, {}) }
}

/** A link to a page of the site, or to a copy of a file that a page mentions. */
function relink (path, href) {
  if (/^[a-z]+:/i.test(href) || href.startsWith('#')) return href
  const [target = '', anchor] = href.split('#')
  const found = posix.normalize(posix.join(dirname(path), target))
  const hash = anchor === undefined ? '' : `#${anchor}`
  if (pages.has(found)) return `${pages.get(found)}${hash}`
  if (!existsSync(join(root, found))) {
    broken.push(`${path}: ${href}`)
    return href
  }
  if (/\.(png|svg)$/.test(found)) return basename(found)
  if (statSync(join(root, found)).isDirectory()) return 'contents.html'
  // A browser shows a file of this name rather than saving it.
  const copy = `files/${found.replaceAll('/', '-')}.txt`
  mkdirSync(join(out, 'files'), { recursive: true })
  cpSync(join(root, found), join(out, copy))
  return copy
}

const style = `
:root {
  color-scheme: light dark; --ink: #1b1f24; --line: #dce1e7; --paper: #fff; --panel: #f5f7f9; --accent: #0a58ca
}
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --line: #333b44; --paper: #14171a; --panel: #1c2126; --accent: #86b7ff }
}
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 80rem; display: grid; grid-template-columns: 14rem minmax(0, 1fr); gap: 0 3rem;
  padding: 1.5rem; font: 1rem/1.6 system-ui, sans-serif; color: var(--ink); background: var(--paper) }
a { color: var(--accent) }
nav ul { list-style: none; padding: 0 }
nav a { text-decoration: none }
nav [aria-current] { font-weight: 600; color: var(--ink) }
input { width: 100%; font: inherit; padding: .25rem .5rem }
pre, code { font-family: ui-monospace, monospace; font-size: .875rem; background: var(--panel) }
pre { padding: .75rem 1rem; overflow-x: auto; border-radius: .375rem }
table { border-collapse: collapse; display: block; overflow-x: auto }
th, td { text-align: start; vertical-align: top; padding: .25rem 1rem .25rem 0; border-bottom: 1px solid var(--line) }
img { max-width: 100%; border: 1px solid var(--line) }
@media (max-width: 50rem) { body { display: block } }
`

const script = `
const input = document.querySelector('input')
const list = document.querySelector('nav ol')
let sections
input.addEventListener('input', async () => {
  sections ??= fetch('search.json').then(response => response.json())
  const words = input.value.toLowerCase().split(/\\s+/).filter(word => word !== '')
  const found = words.length === 0 ? [] : (await sections)
    .map(section => ({ section, title: section.title.toLowerCase(), text: section.text.toLowerCase() }))
    .filter(({ title, text }) => words.every(word => title.includes(word) || text.includes(word)))
    .sort((a, b) => words.every(word => b.title.includes(word)) - words.every(word => a.title.includes(word)))
  list.replaceChildren(...found.slice(0, 20).map(({ section: { page, anchor, title } }) => {
    const item = document.createElement('li')
    const link = document.createElement('a')
    link.href = page + '#' + anchor
    link.textContent = title
    item.append(link)
    return item
  }))
})
`

rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
const rendered = [...pages].map(([path, file]) => ({ file, ...render(path, file) }))
const escape = text => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
for (const { file, title, content } of rendered) {
  const links = rendered.map(({ file: other, title }) =>
    `<li><a href="${other}"${other === file ? ' aria-current="page"' : ''}>${escape(title)}</a></li>`)
  const api = existsSync(join(root, 'build/api')) ? '<li><a href="api/index.html">API reference</a></li>' : ''
  writeFileSync(join(out, file), `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)} - fastify-dealbook</title><link rel="stylesheet" href="site.css"></head>
<body><nav aria-label="Pages"><input type="search" aria-label="Search" placeholder="Search"><ol></ol>
<ul>${links.join('\n')}${api}</ul></nav>
<main>${content}</main><script src="site.js"></script></body></html>
`)
}
writeFileSync(join(out, 'site.css'), style)
writeFileSync(join(out, 'site.js'), script)
writeFileSync(join(out, 'search.json'), JSON.stringify(sections))
for (const file of readdirSync(join(root, 'docs')).filter(file => /\.(png|svg)$/.test(file))) {
  cpSync(join(root, 'docs', file), join(out, file))
}
if (existsSync(join(root, 'build/api'))) cpSync(join(root, 'build/api'), join(out, 'api'), { recursive: true })

// Every link to a heading leads to one.
const anchors = new Set(sections.map(({ page, anchor }) => `${page}#${anchor}`))
for (const { file, content } of rendered) {
  for (const [, href] of content.matchAll(/href="([^"]*#[^"]*)"/g)) {
    const target = href.startsWith('#') ? file + href : href
    if (!/^[a-z]+:/i.test(href) && !anchors.has(decodeURIComponent(target))) broken.push(`${file}: ${href}`)
  }
}
if (broken.length > 0) {
  console.error(`Links that lead nowhere:\n${broken.join('\n')}`)
  process.exitCode = 1
}
console.log(`${rendered.length} pages are in ${out}`)
