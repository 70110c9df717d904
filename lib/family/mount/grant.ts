import { nearest } from '../../values/nearest.js'
import type { Family } from '../model/family.js'
import type { Grant } from './options.js'

const known = ['principal', 'where']

/** What `authorize` gave back. A mistake in it must not show anybody too much, so it is a fault and not a guess. */
export function checkGrant (family: Family, granted: unknown): Grant {
  if (granted === undefined || granted === null) return {}
  const fail = (what: string): never => { throw new TypeError(`fastify-dealbook, ${family.name}: authorize ${what}`) }
  if (typeof granted !== 'object') return fail('must give back nothing, or { principal, where }')
  const { principal, where } = granted as Grant
  for (const name of Object.keys(granted)) {
    if (!known.includes(name)) fail(`gave back "${name}"; it may give back "principal" and "where"`)
  }
  if (principal !== undefined && typeof principal !== 'string') fail('gave back a principal that is no text: "principal" must be a string')
  if (where === undefined) return granted as Grant
  if (!Array.isArray(where)) return fail('gave back conditions that are no list: "where" must be a list of conditions')
  for (const { field } of where) {
    if (!family.shape.fields.some(({ name, kind }) => name === field && kind !== 'json')) {
      const meant = nearest(String(field), family.shape.fields.map(({ name }) => name))
      fail(`gave back conditions on "${String(field)}", which is no field that can be filtered${meant === undefined ? '' : `; did you mean "${meant}"?`}`)
    }
  }
  return granted as Grant
}
