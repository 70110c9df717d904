import { BoundedCache } from '../cache.js'
import { type Day, toDay } from '../values/formats.js'

// A formatter takes much memory. Unknown names are cached too, as undefined.
const formatters = new BoundedCache<Intl.DateTimeFormat | undefined>(50, 100)

// Newer versions of Node know offsets too, such as +05:00. Other letters may have the lower case of one of these.
const namePattern = /^[a-z][\w+/-]*$/i

function getFormatter (timeZone: string): Intl.DateTimeFormat | undefined {
  if (!namePattern.test(timeZone)) return undefined
  return formatters.get(timeZone.toLowerCase(), () => {
    try {
      return new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
    } catch {
      return undefined
    }
  })
}

/** Whether it is a time zone, such as `Europe/Berlin`. */
export function isTimeZone (text: string): boolean {
  return getFormatter(text) !== undefined
}

const second = 1000
const secondsPerDay = 86_400 * second

/** A day of a time zone, which may have 23 or 25 hours. @param timeZone default: UTC */
export function toDayIn (timeZone: string | undefined, date: string): Day {
  const formatter = timeZone === undefined ? undefined : getFormatter(timeZone)
  const utc = toDay(date)
  if (formatter === undefined) return utc
  const midnight = Date.parse(`${date}T00:00:00.000Z`)
  return {
    from: writeMoment(findInstant(formatter, midnight), utc),
    before: writeMoment(findInstant(formatter, midnight + secondsPerDay), utc)
  }
}

/** When the clock shows it: the first time if it does so twice. If it skips it, by the offset before the change. */
function findInstant (formatter: Intl.DateTimeFormat, clock: number): number {
  const around = [clock - secondsPerDay, clock + secondsPerDay]
  const [before, after] = around.map(moment => getOffset(formatter, moment)) as [number, number]
  const [first, second] = [clock - before, clock - after]
  const isSecond = getOffset(formatter, first) !== before && getOffset(formatter, second) === after
  return isSecond ? second : first
}

// 11/17/2026, GMT+05:45; also GMT alone and, before there were zones, GMT-03:06:28.
const offsetPattern = /([+-])(\d+):(\d+)(?::(\d+))?$/

function getOffset (formatter: Intl.DateTimeFormat, moment: number): number {
  const [, sign, hours, minutes, seconds = '0'] = offsetPattern.exec(formatter.format(moment)) ?? []
  if (sign === undefined) return 0
  const offset = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)
  return (sign === '-' ? -offset : offset) * second
}

/** At the ends of the calendar, the day in UTC: other years cannot be compared. */
function writeMoment (moment: number, { from, before }: Day): string {
  const text = new Date(moment).toISOString()
  if (text.startsWith('0000')) return from
  return /^\d{4}-/.test(text) ? text : before
}

const local = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?$/

/** Converts a local time of a zone, such as `2026-11-17T12:00`; undefined if the text is not one. */
export function toInstant (text: string, timeZone: string): string | undefined {
  const clock = local.test(text) ? Date.parse(`${text}Z`) : NaN
  const formatter = getFormatter(timeZone)
  if (Number.isNaN(clock) || formatter === undefined) return undefined
  return new Date(findInstant(formatter, clock)).toISOString()
}

/** A moment as the clock of a known zone shows it, `YYYY-MM-DDTHH:mm:ss.sss`. */
export function toLocal (moment: string, timeZone = 'UTC'): string {
  const time = Date.parse(moment)
  return new Date(time + getOffset(getFormatter(timeZone) as Intl.DateTimeFormat, time)).toISOString().slice(0, -1)
}
