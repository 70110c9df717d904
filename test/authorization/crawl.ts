import type { Checker } from './checker.js'

// Follows the links of pages and documents, and sends their forms with what they start with.

const mostOfShape = 3
const formHeaders = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }

/** What differs between addresses of the same kind. */
function nameShape (url: string): string {
  return url.replace(/[0-9a-f]{8}-[0-9a-f-]{27}|(?<=after=|before=)[^&]+|\d+/g, '*')
}

/** @returns how many pages and forms there were */
export async function crawl (checker: Checker, start: string, most: number): Promise<{ pages: number, forms: number }> {
  const { prefix } = checker
  const shapes = new Map<string, number>()
  const seen = new Set([start])
  const queue = [start]
  const found = { pages: 0, forms: 0 }
  const isWanted = (url: string): boolean => {
    if (seen.has(url) || !url.startsWith(prefix)) return false
    seen.add(url)
    const shape = nameShape(url)
    const count = (shapes.get(shape) ?? 0) + 1
    shapes.set(shape, count)
    return count <= mostOfShape
  }
  const add = (urls: Iterable<string>): void => { for (const url of urls) if (isWanted(url)) queue.push(url) }
  for (let url = queue.shift(); url !== undefined && found.pages < most; url = queue.shift()) {
    found.pages++
    const asked = url.replace(prefix, '/shop')
    const { body } = await checker.ask({ url: asked, headers: { accept: 'text/html' } })
    add(listLinks(body, url))
    for (const { action, payload } of listForms(body, url)) {
      if (!isWanted(`${action}#${payload.replace(/=[^&]*/g, '')}`)) continue
      found.forms++
      const request = { method: 'POST', url: action.replace(prefix, '/shop'), payload, headers: formHeaders } as const
      const answer = await checker.ask(request)
      const { location } = answer.headers
      add([...listLinks(answer.body, url), ...location === undefined ? [] : [String(location)]])
    }
    const json = await checker.ask({ url: asked, headers: { accept: 'application/json' } })
    add([...json.body.matchAll(/"(\/[^"\s]*)"/g)].map(([, link]) => link as string))
  }
  return found
}

function unescape (text: string): string {
  const names: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => names[name] as string)
}

function resolve (link: string, url: string): string {
  const { pathname, search } = new URL(unescape(link), `http://localhost${url}`)
  return pathname + search
}

function listLinks (body: string, url: string): string[] {
  return [...body.matchAll(/href="([^"#]+)[^"]*"/g)].map(([, link]) => resolve(link as string, url))
}

interface Form {
  readonly action: string
  readonly payload: string
}

function listForms (body: string, url: string): Form[] {
  return [...body.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)].flatMap(([, start = '', content = '']) => {
    if (readAttribute(start, 'method') !== 'post') return []
    const action = resolve(readAttribute(start, 'action') ?? '', url)
    return [{ action, payload: new URLSearchParams(listValues(content)).toString() }]
  })
}

function listValues (content: string): [string, string][] {
  const inputs = [...content.matchAll(/<(?:input|button)\b([^>]*)>/g)].flatMap(([, start = '']) => {
    const isOff = /type="(?:checkbox|radio)"/.test(start) && !/\bchecked\b/.test(start)
    return isOff ? [] : [[readAttribute(start, 'name'), readAttribute(start, 'value') ?? ''] as const]
  })
  const texts = [...content.matchAll(/<textarea\b([^>]*)>([^<]*)</g)]
    .map(([, start = '', value = '']) => [readAttribute(start, 'name'), unescape(value)] as const)
  const selects = content.matchAll(/<select\b([^>]*)>([\s\S]*?)<\/select>/g)
  const choices = [...selects].map(([, start = '', options = '']) => {
    const chosen = /<option\b([^>]*\bselected\b[^>]*)>/.exec(options)?.[1] ?? ''
    return [readAttribute(start, 'name'), readAttribute(chosen, 'value') ?? ''] as const
  })
  return [...inputs, ...texts, ...choices].flatMap(([name, value]) => name === undefined ? [] : [[name, value]])
}

function readAttribute (start: string, name: string): string | undefined {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(start)?.[1]
  return value && unescape(value)
}
