import type { Mount } from '../mount.js'
import type { Endpoint } from '../routes.js'
import { actionEndpoints, makeActionWriter } from './action.js'
import { attributes } from './attributes.js'
import { command } from './command.js'
import { commands } from './commands.js'
import type { Form } from './form.js'
import { combineForms } from './form.js'
import { lifecycleEndpoints, makeLifecycleWriter } from './lifecycle.js'
import { noun } from './noun.js'
import { update } from './update.js'
import { participle, verb } from './word.js'

/** The forms in which an operation can be said. A further one is a further object in this list. */
export const forms = [verb, participle, update, noun, attributes, command, commands] as const

/** The name of a form in which an operation can be said. */
export type FormName = typeof forms[number]['name']

/** Everything that a mount can be told to do. */
export function writeEndpoints (mount: Mount): Endpoint[] {
  const mounted = forms.filter(({ name }) => mount.forms.has(name))
  listWriters(mount, mounted)
  return [
    ...lifecycleEndpoints(mount),
    ...combineForms(mounted, mount),
    ...(mount.unversioned === false ? [] : actionEndpoints(mount))
  ]
}

// The first is what a button of a page does.
function listWriters (mount: Mount, mounted: readonly Form[]): void {
  const { requestWriters: writers, family: { lifecycle } } = mount
  if (mount.forms.has(noun.name)) writers.set(noun.name, noun.makeWriter(mount))
  if (lifecycle !== undefined) writers.set('lifecycle', makeLifecycleWriter(mount))
  for (const form of mounted) if (form !== noun) writers.set(form.name, form.makeWriter(mount))
  if (mount.unversioned !== false) writers.set('action', makeActionWriter(mount))
}
