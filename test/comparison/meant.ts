import type { Got, Sent } from './requests.js'

/** A difference between two builds that is on purpose. */
interface Meant {
  readonly reason: string
  holds (sent: Sent, before: Got, after: Got): boolean
}

const meant: readonly Meant[] = []

/** The reason why two answers may differ; undefined if they may not. */
export function isMeant (sent: Sent, before: Got, after: Got): string | undefined {
  return meant.find(({ holds }) => holds(sent, before, after))?.reason
}
