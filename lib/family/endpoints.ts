import type { FastifyRequest } from 'fastify'
import { Problem } from '../problems.js'
import type { Endpoint } from '../http/routes.js'
import { nearest } from '../values/nearest.js'
import { actionEndpoints } from './forms/action.js'
import { commandEndpoints } from './forms/command.js'
import { commandsEndpoints } from './forms/commands.js'
import { nounEndpoints } from './forms/noun.js'
import { putEndpoints } from './forms/put.js'
import { participleEndpoints, verbEndpoints } from './forms/word.js'
import { lifecycleEndpoints } from './forms/lifecycle.js'
import { logEndpoints } from './read/log.js'
import type { Mount } from './mount/mount.js'
import { resultEndpoints } from './read/results.js'
import { readEndpoints } from './read/items.js'
import type { Unversioned } from './mount/unversioned.js'

/** Everything that a mount answers under its own path. */
export function endpointsOf (mount: Mount): Endpoint[] {
  const { family, forms } = mount
  const operations = [...family.operations.values()]
  return [
    ...readEndpoints(mount),
    ...(family.lifecycle === undefined ? [] : lifecycleEndpoints(mount, family.lifecycle)),
    ...(family.lifecycle !== undefined && forms.has('noun') ? nounEndpoints(mount, family.lifecycle.deletion) : []),
    ...(family.writable ? logEndpoints(mount) : []),
    ...(operations.length > 0 ? putEndpoints(mount) : []),
    ...(operations.length > 0 && forms.has('command') ? commandEndpoints(mount) : []),
    ...operations.flatMap(operation => [
      ...(forms.has('verb') ? verbEndpoints(mount, operation) : []),
      ...(forms.has('participle') ? participleEndpoints(mount, operation) : []),
      ...(forms.has('noun') ? nounEndpoints(mount, operation) : [])
    ])
  ]
}

/** What it answers on the paths that it shares with the other families at its prefix. */
export function unversionedEndpoints (mount: Mount, shared: Unversioned): Endpoint[] {
  const { family, forms } = mount
  return [
    ...(family.operations.size > 0 && forms.has('commands') ? commandsEndpoints(mount, shared) : []),
    ...actionEndpoints(mount, shared),
    ...resultEndpoints(mount, shared)
  ]
}

/** The problem of a path below an item that is no word of the family, with the word that may be meant. */
export function unknownWord ({ family, forms }: Mount, request: FastifyRequest): Problem {
  const { word } = request.params as { word: string }
  const known = [...family.operations.values()].flatMap(({ operation }) => (['verb', 'participle', 'noun'] as const).filter(form => forms.has(form)).map(form => operation[form]))
  const meant = nearest(word, [...known, 'commands'])
  return new Problem('not-found', `A ${family.singular} has no "${word.slice(0, 100)}".${meant === undefined ? '' : ` Did you mean "${meant}"?`}`)
}
