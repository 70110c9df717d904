import { BoundedCache } from '../core/cache.js'

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const longDays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

const time = '(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)'
const month = `(?<month>${months.join('|')})`
const forms = [
  new RegExp(`^(?:${days.join('|')}), (?<day>\\d\\d) ${month} (?<year>\\d{4}) ${time} GMT$`),
  new RegExp(`^(?:${longDays.join('|')}), (?<day>\\d\\d)-${month}-(?<shortYear>\\d\\d) ${time} GMT$`),
  new RegExp(`^(?:${days.join('|')}) ${month} (?<day>[ \\d]\\d) ${time} (?<year>\\d{4})$`)
]

/** An HTTP date (RFC 9110, 5.6.7) in its three forms, as seconds since 1970; undefined where it is none. */
export function readHttpDate (text: string, now = Date.now()): number | undefined {
  for (const form of forms) {
    const parts = form.exec(text)?.groups
    if (parts === undefined) continue
    const numbers = [Number(parts.hour), Number(parts.minute), Number(parts.second)] as const
    const day = Number(parts.day)
    const at = months.indexOf(parts.month as string)
    const year = parts.year === undefined ? fullYear(Number(parts.shortYear), now) : Number(parts.year)
    const date = new Date(Date.UTC(year, at, day, ...numbers))
    const isDay = year >= 100 && date.getUTCMonth() === at && date.getUTCDate() === day
    const [hour, minute, second] = numbers
    return isDay && hour <= 23 && minute <= 59 && second <= 60 ? date.getTime() / 1000 : undefined
  }
  return undefined
}

// The same items are read again and again; the date of one takes longer to write than to find.
const written = new BoundedCache<string>(1000)

/** A moment as an HTTP date. */
export function writeHttpDate (moment: string): string {
  return written.get(moment, () => new Date(moment).toUTCString())
}

// A year of two digits that would be more than 50 years ahead is in the past (RFC 9110, 5.6.7).
function fullYear (short: number, now: number): number {
  const current = new Date(now).getUTCFullYear()
  const year = current - current % 100 + short
  return year > current + 50 ? year - 100 : year
}
