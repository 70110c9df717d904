// Where the links of the documentation lead, those of TSDoc too. No network: of other hosts only the form is looked at.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { pages } from './pages.js'

const others = ['CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'bench/README.md', '.github/PULL_REQUEST_TEMPLATE.md']
const linked = new Map([...pages, ...others.map(path => [path, readFileSync(path, 'utf8')] as const)])

/** The TSDoc of each file, without the asterisks and the examples. */
const comments = new Map(
  ['lib', 'examples'].flatMap(folder => readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => [join(folder, name), readTsdoc(readFileSync(join(folder, name), 'utf8'))] as const))
)

function readTsdoc (source: string): string {
  return [...source.matchAll(/\/\*\*(.*?)\*\//gs)]
    .map(([, comment = '']) => comment.replace(/@example.*/s, '').replace(/^ *\*/gm, ''))
    .join('\n')
}

/** What is no program and no sample of one. */
const proseOf = (text: string): string => text.replace(/^```.*?^```$/gms, '').replace(/<!--.*?-->/gs, '')

const withoutSpans = (text: string): string => proseOf(text).replace(/(`+)[^`].*?\1/gs, '')

/** Headings as GitHub names them; one that comes again has a number. */
function anchorsOf (text: string): string[] {
  const seen = new Map<string, number>()
  return [...proseOf(text).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => {
    const name = (heading as string).toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, '').replaceAll(' ', '-')
    const times = seen.get(name) ?? 0
    seen.set(name, times + 1)
    return times === 0 ? name : `${name}-${times}`
  })
}

const linksOf = (text: string): string[] => [
  ...[...withoutSpans(text).matchAll(/\]\(([^)]*)\)/g)].map(([, link]) => link as string),
  ...[...withoutSpans(text).matchAll(/^\[[^\]]+\]: *(.*)$/gm)].map(([, link]) => link as string)
]

/** Addresses that stand in the text, as links or by themselves. */
const addressesOf = (text: string): string[] =>
  [...withoutSpans(text).matchAll(/\b\w+:\/\/[^\s)>\]]*/g)].map(([address]) => address)

/** What is wrong with a link of a page; undefined where it leads somewhere. */
function findFlaw (page: string, link: string): string | undefined {
  if (/^\w+:/.test(link)) return findFlawOfAddress(link)
  const [path, anchor, ...more] = link.split('#') as [string, string?, ...string[]]
  if (link === '' || /\s/.test(link) || more.length > 0) return 'is no link'
  const target = path === '' ? page : join(dirname(page), path)
  if (!existsSync(target)) return 'is not there'
  if (anchor === undefined) return
  const text = linked.get(target)
  if (text === undefined) return 'is no page of ours, and its headings are not known'
  return anchorsOf(text).includes(anchor) ? undefined : 'has no such heading'
}

function findFlawOfAddress (address: string): string | undefined {
  if (!URL.canParse(address)) return 'is no URL'
  const { protocol, hostname, username, port } = new URL(address)
  if (protocol !== 'https:') return 'is not https'
  if (!/^([a-z0-9-]+\.)+[a-z]{2,}$/.test(hostname)) return 'names no host'
  if (username !== '' || port !== '') return 'has more than a host and a path'
  return /[.,;:!?'"]$|\s/.test(address) ? 'ends with what belongs to the sentence' : undefined
}

t.test('every link leads somewhere', async t => {
  let [links, addresses] = [0, 0]
  for (const [page, text] of [...linked, ...comments]) {
    for (const link of linksOf(text)) {
      links++
      t.equal(findFlaw(page, link), undefined, `${page}: ${link}`)
    }
    for (const address of addressesOf(text)) {
      addresses++
      t.equal(findFlawOfAddress(address.replace(/[.,;:]$/, '')), undefined, `${page}: ${address}`)
    }
  }
  t.ok(links > 300 && addresses > 40, `${links} links, ${addresses} addresses`)
  t.ok(comments.size > 100, `TSDoc of ${comments.size} files`)
})

t.test('a link that leads nowhere is found', async t => {
  for (const [page, link, flaw] of [
    ['README.md', 'docs/storage.md#durability', undefined],
    ['docs/faq.md', '#joins', undefined],
    ['lib/index.ts', '../docs/limits.md', undefined],
    ['docs/faq.md', 'docs/storage.md', 'is not there'],
    ['docs/faq.md', '../docs/storage.md#durable', 'has no such heading'],
    ['docs/faq.md', '../lib/index.ts#L3', 'is no page of ours, and its headings are not known'],
    ['docs/faq.md', '', 'is no link'],
    ['docs/faq.md', 'storage.md "Storage"', 'is no link'],
    ['docs/faq.md', 'https://fastify.dev', undefined],
    ['docs/faq.md', 'http://fastify.dev', 'is not https'],
    ['docs/faq.md', 'https://fastify', 'names no host'],
    ['docs/faq.md', 'https:///docs', 'names no host'],
    ['docs/faq.md', 'https://me@fastify.dev', 'has more than a host and a path'],
    ['docs/faq.md', 'https://fastify.dev/docs.', 'ends with what belongs to the sentence']
  ] as const) t.equal(findFlaw(page, link), flaw, link)
  t.same(anchorsOf('# A\n\n```sh\n# no heading\n```\n\n## What is "it"?\n\n## A\n'), ['a', 'what-is-it', 'a-1'])
  t.same(linksOf('`[no](link)`, [one](a.md), ![two](b.png)\n[three]: c.md\n'), ['a.md', 'b.png', 'c.md'])
  t.same(linksOf(readTsdoc('/**\n * See [limits](../docs/limits.md).\n */\nconst a = "[b](c)"')), ['../docs/limits.md'])
})

t.test('the README leads to the list of all pages', async t => {
  const index = 'docs/README.md'
  t.match(pages.get('README.md'), `(${index})`)
  for (const page of pages.keys()) {
    if (page !== 'README.md' && page !== index) t.match(pages.get(index), `(${page.replace('docs/', '')})`, page)
  }
})
