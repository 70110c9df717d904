import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance, InjectOptions } from 'fastify'
import type { LightMyRequestResponse as Response } from 'fastify'
import { makerId, mark, since, weight } from './hidden-app.js'

export type Role = 'boss' | 'clerk' | 'narrow' | 'anyone' | 'uneven'
export type Asked = InjectOptions & { readonly url: string }

/** Asks for one role, and notes every answer with something hidden, and what else is wrong. */
export class Checker {
  readonly leaks: string[] = []
  readonly flaws: string[] = []
  readonly codes = new Map<number, number>()
  asked = 0

  /** @param isThorough whether it asks in every form, and not in one after the other */
  constructor (
    readonly app: FastifyInstance, readonly role: Role, readonly prefix = '/shop', readonly isThorough = true
  ) {}

  /** All, or the one whose turn it is. */
  take<T> (all: readonly T[], turn: number): readonly T[] {
    return this.isThorough ? all : [all[turn % all.length] as T]
  }

  check (what: string, answer: unknown): void {
    this.asked++
    const text = typeof answer === 'string' ? answer : JSON.stringify(answer) ?? ''
    const at = findHidden(text, /^\w+ .(shop|whole).(goods|orders)/.test(what))
    if (at !== undefined) this.leaks.push(`${what}: …${at}`)
  }

  expect (is: unknown, shouldBe: unknown, what: string): void {
    if (isDeepStrictEqual(is, shouldBe)) return
    this.flaws.push(`${this.role}: ${what}: ${String(is).slice(0, 1000)}, not ${String(shouldBe).slice(0, 1000)}`)
  }

  async ask ({ headers, ...given }: Asked, expected?: number): Promise<Response> {
    const asked = { ...given, url: given.url.replace('/shop', this.prefix) }
    const answer = await this.app.inject({ ...asked, headers: { ...headers, 'x-role': this.role } })
    const { statusCode, body } = answer
    this.codes.set(statusCode, (this.codes.get(statusCode) ?? 0) + 1)
    const what = `${asked.method ?? 'GET'} ${asked.url} ${JSON.stringify([headers, asked.payload])}`
    this.check(what, body + JSON.stringify(answer.headers))
    if (expected !== undefined) this.expect(statusCode, expected, `${what} ${body.slice(0, 300)}`)
    const isNarrow = !['boss', 'uneven'].includes(this.role)
    const named = statusCode === 409 && isNarrow ? hiddenPointer.exec(body)?.[0] : undefined
    if (named !== undefined) this.leaks.push(`${what}: names ${named}`)
    if (statusCode >= 500) this.flaws.push(`${what}: ${body}`)
    return answer
  }
}

// No command may send them, so a refusal must not be about them.
const hiddenPointer = /(?<!<)\/(?:cost|code|maker|weight|since|quality)\b/

// Of cursors, or data in a page.
const encoded = /[A-Za-z0-9_-]{12,}/g
const separators = /[\s.,'\u00a0\u2009\u202f]/g
const [year = ''] = since.split('-')
const date = new RegExp(`${since.slice(0, 7)}|[A-Za-z., ]${year}\\b`)

/** The text around what is hidden, also as it is in a URL, in base64, and as people write numbers and dates. */
export function findHidden (text: string, hidesMaker: boolean): string | undefined {
  // Goods refer to their makers by a field that is hidden, but the makers themselves may be seen.
  const known = hidesMaker ? [mark, makerId] : [mark]
  for (const each of listForms(text)) {
    const at = known.map(word => each.indexOf(word)).find(index => index >= 0) ?? -1
    if (at >= 0) return each.slice(Math.max(0, at - 80), at + 40)
  }
  const found = date.exec(text)?.[0]
  if (found !== undefined) return found
  return text.replace(separators, '').includes(String(weight)) ? String(weight) : undefined
}

function * listForms (text: string): Generator<string> {
  yield text
  if (text.includes('%')) yield text.replace(/%[0-9A-F]{2}/gi, code => String.fromCharCode(parseInt(code.slice(1), 16)))
  for (const [word] of text.matchAll(encoded)) yield Buffer.from(word, 'base64url').toString('latin1')
}
