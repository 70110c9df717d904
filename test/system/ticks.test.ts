import { execFileSync } from 'node:child_process'
import t from 'tap'
import { unmeasured } from '../unmeasured.js'

t.test('the hidden class of ticks outlives a collection of garbage, so that nextTick stays fast', async t => {
  const look = (loaded: string) => {
    const script = `
      import { executionAsyncResource } from 'node:async_hooks'
      await import(${JSON.stringify(loaded)})
      const turn = () => new Promise(resolve => setImmediate(resolve))
      const show = async () => {
        process.nextTick(() => { %DebugPrint(executionAsyncResource()) })
        await turn()
      }
      for (let n = 0; n < 100; n++) {
        process.nextTick(() => {})
        await turn()
      }
      await show()
      for (let n = 0; n < 3; n++) {
        gc()
        await turn()
      }
      globalThis.others = Array.from({ length: 500 }, (_, n) => ({ ['member' + n]: n }))
      await show()`
    const args = ['--expose-gc', '--allow-natives-syntax', '--input-type=module', '--eval', script]
    const printed = execFileSync(...unmeasured(process.execPath, args), { encoding: 'utf8' })
    return [...printed.matchAll(/^ - map: (0x[0-9a-f]+)/gm)].map(([, address]) => address)
  }
  const [before, after, ...others] = look(new URL('../../lib/phases.js', import.meta.url).href)
  t.strictSame(others, [])
  t.match(before, /^0x/)
  t.equal(after, before)
  const [once, later] = look('node:fs')
  t.not(later, once, 'without this package it does not')
})
