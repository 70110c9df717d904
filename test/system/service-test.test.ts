import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { unmeasured } from '../unmeasured.js'

t.test('the example of a host that tests its own family passes', async t => {
  const flags = ['--test', '--test-reporter=tap', 'build/examples/service-test.js']
  const { stdout } = await promisify(execFile)(...unmeasured(process.execPath, flags))
  t.match(stdout, /^# pass 4$/m)
  t.match(stdout, /^# fail 0$/m)
})
