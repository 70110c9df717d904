import { Type } from '@sinclair/typebox'
import type { TObject } from '@sinclair/typebox'
import { readIdempotencyKey } from '../../http/idempotency.js'
import { Problem } from '../../problems.js'
import type { Endpoint } from '../../http/routes.js'
import { answerNothing } from '../write/answers.js'
import { describeAction } from '../openapi/writes.js'
import type { Mount } from '../mount/mount.js'
import { compileParams } from '../model/params.js'
import { bodyOf, readSent } from '../write/sent.js'
import type { Unversioned } from '../mount/unversioned.js'
import { writeHandler } from '../write/pipeline.js'

/** `POST /command/{action}/` for every operation and for creating and deleting: the properties as the body, 200 without one. */
export function actionEndpoints (mount: Mount, { actions }: Unversioned): Endpoint[] {
  const { family } = mount
  const endpoints: (Endpoint | undefined)[] = []
  for (const [action, { operation, params }] of family.operations) {
    endpoints.push(endpoint(mount, actions, action, operation.summary ?? operation.name, withId(mount, params.schema), true))
  }
  if (family.lifecycle !== undefined) {
    const { createAction, deletion, params } = family.lifecycle
    endpoints.push(endpoint(mount, actions, createAction, `Create a ${family.singular}`, params.schema, false))
    endpoints.push(endpoint(mount, actions, deletion.operation.action, `Delete a ${family.singular}`, withId(mount, deletion.params.schema), true))
  }
  return endpoints.filter(each => each !== undefined)
}

function endpoint (mount: Mount, actions: Unversioned['actions'], action: string, summary: string, schema: TObject, targeted: boolean): Endpoint | undefined {
  const { family } = mount
  const sent = compileParams(schema)
  const handler = writeHandler(mount, {
    read (request) {
      const { id, ...params } = readSent(sent, bodyOf(request))
      const target = targeted ? family.readId(String(id)) : undefined
      if (targeted && target === undefined) throw new Problem('not-found', `There is no ${family.singular} "${String(id).slice(0, 100)}"`)
      return { action, target, params, key: readIdempotencyKey(request.headers) }
    },
    answer: answerNothing
  })
  const described = describeAction(mount, action, summary, sent.schema)
  if (!actions.claim(action, mount, handler, described)) return undefined
  return {
    method: 'POST',
    path: `/command/${action}`,
    schema: described,
    before: reply => actions.retire(action, reply),
    handler: async (request, reply) => await actions.owner(action)(request, reply)
  }
}

function withId ({ family }: Mount, { properties }: TObject): TObject {
  const id = family.idKind === 'integer' ? Type.Integer() : Type.String()
  return Type.Object({ id: { ...id, description: `The id of the ${family.singular}` }, ...properties })
}
