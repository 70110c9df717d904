import type { Mount } from '../mount.js'
import type { Endpoint } from '../routes.js'
import { actionEndpoints } from './action.js'
import { attributes } from './attributes.js'
import { command } from './command.js'
import { commands } from './commands.js'
import { combineForms } from './form.js'
import { lifecycleEndpoints } from './lifecycle.js'
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
  return [
    ...lifecycleEndpoints(mount),
    ...combineForms(mounted, mount),
    ...(mount.unversioned === false ? [] : actionEndpoints(mount))
  ]
}
