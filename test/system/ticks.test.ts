import { execFileSync } from 'node:child_process'
import t from 'tap'
import { unmeasured } from '../unmeasured.js'

/** How many of the objects that Node makes for ticks are alive in a process that has loaded this, after all ticks. */
function countTicks (loaded: string): number {
  const script = `
    import { Session } from 'node:inspector/promises'
    await import(${JSON.stringify(loaded)})
    for (let n = 0; n < 100; n++) {
      process.nextTick(() => {})
      await new Promise(resolve => setImmediate(resolve))
    }
    const session = new Session()
    session.connect()
    const { result: all } = await session.post('Runtime.evaluate', { expression: 'Object.prototype' })
    // Collects garbage first.
    const { objects } = await session.post('Runtime.queryObjects', { prototypeObjectId: all.objectId })
    const { result } = await session.post('Runtime.callFunctionOn', {
      objectId: objects.objectId,
      functionDeclaration: String(function () {
        const isTick = object => Object.hasOwn(object, 'callback') && Object.getOwnPropertySymbols(object)
          .some(({ description }) => description === 'trigger_async_id_symbol')
        return this.filter(isTick).length
      })
    })
    console.log(result.value)`
  const args = ['--input-type=module', '--eval', script]
  return Number(execFileSync(...unmeasured(process.execPath, args), { encoding: 'utf8' }))
}

t.test('one tick outlives all collections of garbage, so that nextTick stays fast', async t => {
  t.equal(countTicks(new URL('../../lib/core/phases.js', import.meta.url).href), 1)
  t.equal(countTicks('node:fs'), 0, 'without this package there is none')
})
