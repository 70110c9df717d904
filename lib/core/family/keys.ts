import type { FamilyShape } from '../storage/storage.js'
import { commandsShape } from './command-schema.js'
import type { Family } from './family.js'

/** All that a storage keeps for a family: what it refers to, directly or through others, itself, and its log. */
export function listShapes (family: Family): readonly FamilyShape[] {
  const shapes = listWithReferred(family).map(({ shape }) => shape)
  return family.writable ? [...shapes, commandsShape] : shapes
}

function listWithReferred (family: Family): Family[] {
  const others = [...family.references.values()].filter(other => other !== family)
  return [...new Set([...others.flatMap(listWithReferred), family])]
}
