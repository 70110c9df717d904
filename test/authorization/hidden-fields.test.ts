// A checker: whatever a caller asks for, in any form and representation, nothing that a grant hides is in the answer.
import t from 'tap'
import { isLong, runs } from '../size.js'
import { storages } from '../storages.js'
import { Checker, type Role } from './checker.js'
import { startNarrower } from './hidden-app.js'
import { walkAll } from './walk-all.js'
import { accepts, formats, prepare, walkEvents, walkPast, walkReads, walkTools, walkWrites } from './walks.js'

for (const { name, make } of storages) {
  t.test(`${name}: nothing hidden is in any answer`, async t => {
    const count = runs(500)
    // What a grant hides is the same on every storage, but not how a page is read.
    const some: readonly Role[] = ['clerk', 'uneven']
    const roles = isLong || name === 'memory' ? [...some, 'narrow', 'anyone'] as const : some
    let asked = 0
    for (const role of roles) {
      const { storage, dispose } = await make()
      t.teardown(dispose)
      const { leaks, flaws, codes, asked: its } = await walkAll(storage, role, {
        count, isThorough: isLong || (role === 'clerk' && name === 'memory')
      })
      t.strictSame([...new Set(leaks)].slice(0, 40), [], `of ${its} answers to ${role}`)
      t.strictSame(flaws.slice(0, 40), [], `of ${its} answers to ${role}`)
      t.ok((codes.get(200) ?? 0) > 200, `many are answers ${[...codes]}`)
      asked += its
    }
    t.ok(asked > roles.length * (400 + count), `${asked} answers`)
    if (name !== 'memory') return
    // That the checker would find it: a caller from whom nothing is hidden gets it in all of these forms.
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const { leaks } = await walkAll(storage, 'boss', { count: 0, isThorough: true })
    const parts = [...formats.map(format => `format=${format}`), ...accepts, 'QUERY', 'events of', 'PUT', 'PATCH',
      'POST', '/shop/mcp', '_confirm', '/operations', 'preview', 'follow', 'again', 'expand', 'atomic',
      '/rest/commands', '/shop/', 'restore', 'revert', 'revision=', 'waiting for', '/command/', '/query/', 'HEAD',
      '/commands/deleted', 'deleted:']
    const missing = parts.filter(part => !leaks.some(leak => leak.includes(part)))
    // This has no body.
    t.strictSame(missing, ['/command/'], `${leaks.length} leaks`)
  })
}

for (const { name, make } of storages) {
  t.test(`${name}: what a narrower version lacks is in none of its answers`, async t => {
    const { storage, dispose } = await make()
    const app = await startNarrower(storage)
    t.teardown(async () => {
      await app.close()
      await dispose()
    })
    await prepare(new Checker(app, 'boss', '/whole'))
    const base = await app.listen({ port: 0, host: '127.0.0.1' })
    const checker = new Checker(app, 'anyone', '/shop', isLong)
    await walkEvents(checker, base)
    await walkWrites(checker)
    await walkTools(checker)
    await walkPast(checker)
    await walkReads(checker)
    // Of a command that it does not have, the version shows its id, which its client chose.
    const leaks = checker.leaks.filter(leak => !leak.includes('MARK-chosen'))
    t.strictSame([...new Set(leaks)].slice(0, 40), [], `of ${checker.asked} answers`)
    t.ok(checker.asked > 500, `${checker.asked} answers`)
    const whole = new Checker(app, 'boss', '/whole')
    await walkReads(whole)
    t.ok(whole.leaks.length > 50, 'which the whole family has')
  })
}
