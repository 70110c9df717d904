import type { Endpoint } from '../../http/routes.js'
import { answerItem } from '../write/answers.js'
import { describeWord } from '../openapi/writes.js'
import type { CompiledOperation } from '../model/family.js'
import type { Mount } from '../mount/mount.js'
import { targetOfPath } from '../mount/paths.js'
import { bodyOf, readSent } from '../write/sent.js'
import { writeHandler } from '../write/pipeline.js'

/** `PUT …/{id}/hold` with the parameters as the body. */
export function verbEndpoints (mount: Mount, compiled: CompiledOperation): Endpoint[] {
  return [wordEndpoint(mount, compiled, 'verb')]
}

/** `PUT …/{id}/holded`: the same by another word. */
export function participleEndpoints (mount: Mount, compiled: CompiledOperation): Endpoint[] {
  const { operation: { verb, participle } } = compiled
  // Some verbs have only one word for both (split, put).
  return participle === verb && mount.forms.has('verb') ? [] : [wordEndpoint(mount, compiled, 'participle')]
}

function wordEndpoint (mount: Mount, compiled: CompiledOperation, word: 'verb' | 'participle'): Endpoint {
  const { operation, params } = compiled
  return {
    method: 'PUT',
    path: `${mount.home}/:id/${operation[word]}`,
    schema: describeWord(mount, compiled, word),
    handler: writeHandler(mount, {
      read: request => ({ action: operation.action, target: targetOfPath(mount, request), params: readSent(params, bodyOf(request)) }),
      answer: answerItem
    })
  }
}
