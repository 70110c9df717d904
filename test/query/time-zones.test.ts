import fc from 'fast-check'
import t from 'tap'
import { isTimeZone, toDayIn, toInstant, toLocal } from '../../lib/core/query/time-zones.js'
import { toDay } from '../../lib/core/values/formats.js'
import { runs } from '../size.js'

const zones = [
  'Pacific/Auckland', 'America/Sao_Paulo', 'Asia/Kathmandu', 'Africa/Casablanca', 'Australia/Lord_Howe',
  'Europe/Berlin', 'Pacific/Apia', 'Pacific/Kiritimati', 'UTC'
]
const minute = 60_000
const addDays = (date: string, days: number) =>
  new Date(Date.parse(date) + days * 1440 * minute).toISOString().slice(0, 10)

/** The first minute at which a clock there shows this day or a later one: each minute is looked at. */
function findStart (zone: string, date: string): string {
  const clock = new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' })
  for (let moment = Date.parse(date) - 16 * 60 * minute; ; moment += minute) {
    if (clock.format(moment) >= date) return new Date(moment).toISOString()
  }
}

t.test('a day of a time zone is from its first minute to the first of the next', async () => {
  // Every fourth is near a change of the clocks of one of the zones.
  const changes = ['2026-09-27', '2026-04-05', '2018-11-04', '2018-02-18', '2026-10-04', '2026-02-15', '2011-12-30']
  const date = fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 24_000 }).map(days => addDays('1975-01-01', days)) },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.constantFrom(...changes), fc.integer({ min: -2, max: 2 }))
        .map(([change, days]) => addDays(change, days))
    }
  )
  fc.assert(fc.property(fc.constantFrom(...zones), date, (zone, date) => {
    const { from, before } = toDayIn(zone, date)
    return from === findStart(zone, date) && before === findStart(zone, addDays(date, 1))
  }), { numRuns: runs(500) })
})

t.test('days that are shorter, longer, begin late or twice, or were left out', async t => {
  for (const [zone, date, from, before] of [
    ['Pacific/Auckland', '2026-11-17', '2026-11-16T11:00', '2026-11-17T11:00'],
    ['Pacific/Auckland', '2026-09-27', '2026-09-26T12:00', '2026-09-27T11:00'],
    ['Pacific/Auckland', '2026-04-05', '2026-04-04T11:00', '2026-04-05T12:00'],
    ['America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00', '2018-11-05T02:00'],
    ['America/Sao_Paulo', '2018-02-17', '2018-02-17T02:00', '2018-02-18T03:00'],
    ['Australia/Lord_Howe', '2026-10-04', '2026-10-03T13:30', '2026-10-04T13:00'],
    ['Asia/Kathmandu', '1986-01-01', '1985-12-31T18:30', '1986-01-01T18:15'],
    ['Pacific/Apia', '2011-12-30', '2011-12-30T10:00', '2011-12-30T10:00'],
    ['Atlantic/Azores', '2026-10-25', '2026-10-25T00:00', '2026-10-26T01:00'],
    ['europe/berlin', '2026-07-01', '2026-06-30T22:00', '2026-07-01T22:00']
  ] as const) {
    t.strictSame(toDayIn(zone, date), { from: `${from}:00.000Z`, before: `${before}:00.000Z` }, `${zone} ${date}`)
  }
  t.strictSame(toDayIn(undefined, '2026-11-17'), toDay('2026-11-17'))
  t.strictSame(toDayIn('UTC', '2026-11-17'), toDay('2026-11-17'))
  t.equal(toDayIn('America/Sao_Paulo', '1900-01-01').from, '1900-01-01T03:06:28.000Z', 'before there were zones')
})

t.test('the first and the last day stay within what can be compared', async t => {
  t.equal(toDayIn('Pacific/Auckland', '0001-01-01').from, '0001-01-01T00:00:00.000Z')
  t.equal(toDayIn('America/New_York', '9999-12-31').before, '9999-12-31T24:00:00.000Z')
  t.equal(toDayIn('Pacific/Auckland', '9999-12-31').before, '9999-12-31T11:00:00.000Z')
})

t.test('local times, there and back', async t => {
  for (const [zone, local, instant] of [
    ['Europe/Berlin', '2026-07-01T12:00', '2026-07-01T10:00'], ['UTC', '2026-07-01T12:00', '2026-07-01T12:00'],
    ['America/Sao_Paulo', '2026-07-01T23:30', '2026-07-02T02:30'],
    ['Asia/Kathmandu', '2026-07-01T00:00', '2026-06-30T18:15']
  ] as const) {
    t.equal(toInstant(local, zone), `${instant}:00.000Z`, `${zone} ${local}`)
    t.equal(toLocal(`${instant}:00.000Z`, zone), `${local}:00.000`, `${zone} ${instant}`)
  }
  t.equal(toInstant('2026-10-25T02:30', 'Europe/Berlin'), '2026-10-25T00:30:00.000Z', 'the first of two')
  t.equal(toInstant('2026-07-01T12:00', 'Mars/Base'), undefined)
  t.equal(toInstant('2026-07-01', 'UTC'), undefined, 'no time')
})

t.test('only names are time zones', async t => {
  for (const zone of [...zones, 'utc', 'Etc/GMT+5', 'America/Argentina/Buenos_Aires']) t.ok(isTimeZone(zone), zone)
  const others = ['', 'Mars/Base', '+05:00', '05:00', 'Europe', 'Europe/', ' UTC', 'UTC\n', '\u0000', 'x'.repeat(9999)]
  for (const text of others) {
    t.notOk(isTimeZone(text), JSON.stringify(text.slice(0, 20)))
  }
})

t.test('a name with a sign whose lower case is a letter is not kept for the zone', async t => {
  for (const zone of ['America/New_York', 'Asia/Tokyo']) {
    t.notOk(isTimeZone(zone.replace('k', '\u212a')), 'the sign of kelvins')
    t.ok(isTimeZone(zone), zone)
    t.notOk(isTimeZone(zone.replace('k', '\u212a')), 'also after the zone')
  }
})
