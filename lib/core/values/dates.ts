export const dateRule = 'must be a date that exists, as in 2026-03-31'
export const dateTimeRule = 'must be a date and time, as in 2026-03-31T12:00:00Z'

const datePattern = /^(\d{4})-(\d\d)-(\d\d)$/
const dateTimePattern =
  /^(\d{4}-\d\d-\d\d)[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/

/** Whether the text is a day that exists, from the year 1 (databases have no year 0) to 9999. */
export function isDate (text: string): boolean {
  const parts = datePattern.exec(text)
  if (parts === null) return false
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])]
  return year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= countDays(year, month)
}

/** A day in UTC: from its first moment to before the first of the next. */
export interface Day {
  readonly from: string
  readonly before: string
}

/** The moments of a day that exists. */
export function toDay (date: string): Day {
  const from = `${date}T00:00:00.000Z`
  const next = new Date(Date.parse(from) + 86_400_000).toISOString()
  // The day after the last has too long a year; this comes after all moments of the last as well.
  return { from, before: /^\d{4}-/.test(next) ? next : `${date}T24:00:00.000Z` }
}

/** Turns a date-time of any offset into UTC, `YYYY-MM-DDTHH:mm:ss.sssZ`; undefined if it is not one. */
export function readDateTime (text: string): string | undefined {
  const parts = dateTimePattern.exec(text)
  if (parts === null || !isDate(parts[1] as string)) return undefined
  const [, date, hours, minutes, seconds, fraction = '', sign, offsetHours, offsetMinutes] = parts
  const utc = Date.parse(`${date}T${hours}:${minutes}:${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}Z`)
  const offset = sign === undefined ? 0 : (Number(offsetHours) * 60 + Number(offsetMinutes)) * (sign === '-' ? -1 : 1)
  const moment = new Date(utc - offset * 60_000).toISOString()
  // The offset can move it out of the four-digit years.
  return /^\d{4}-/.test(moment) && isDate(moment.slice(0, 10)) ? moment : undefined
}

function countDays (year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}
