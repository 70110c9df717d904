import { SaxesParser } from 'saxes'

/** An element, with all the text in it. */
export interface Element {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: Element[]
  text: string
}

/** Parses XML strictly, namespaces included; whatever is not well-formed throws. */
export function parseXml (text: string): Element {
  const root: Element = { name: '', attributes: {}, children: [], text: '' }
  const open: Element[] = [root]
  const parser = new SaxesParser({ xmlns: true })
  parser.on('error', error => { throw error })
  parser.on('opentag', ({ name, attributes }) => {
    const element: Element = {
      name,
      attributes: Object.fromEntries(Object.entries(attributes).map(([key, { value }]) => [key, value])),
      children: [],
      text: ''
    }
    open.at(-1)?.children.push(element)
    open.push(element)
  })
  parser.on('text', part => { for (const element of open) element.text += part })
  parser.on('closetag', () => { open.pop() })
  parser.write(text).close()
  return root.children[0] as Element
}

/** The children of an element of which there is one each, as text. */
export function membersOf ({ children }: Element): Record<string, string> {
  return Object.fromEntries(children.map(({ name, text }) => [name, text]))
}
