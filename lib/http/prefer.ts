import type { IncomingHttpHeaders } from 'node:http'

export type Preference = 'minimal' | 'representation'

/** What `Prefer: return=…` (RFC 7240) asks for; the first that is understood counts. */
export function readPreference ({ prefer }: IncomingHttpHeaders): Preference | undefined {
  if (typeof prefer !== 'string') return undefined
  for (const preference of prefer.split(',')) {
    const value = /^\s*return\s*=\s*(?:"(\w+)"|(\w+))\s*(?:;|$)/i.exec(preference)
    const wanted = value?.[1] ?? value?.[2]
    if (wanted === 'minimal' || wanted === 'representation') return wanted
  }
  return undefined
}
