import { errorCodes } from '../errors.js'
import type { FamilyDefinition } from '../family/definition.js'
import type { Family, Renaming } from '../family/family.js'
import { type AnyExtension, extendDefinition } from './extension.js'
import { findFlawInDefinition, renameDefinition } from './members.js'
import { makeRenaming } from './rename.js'

/** A definition under other names, and how these and those of the family stand for each other. */
export interface RenamedDefinition {
  readonly definition: FamilyDefinition
  readonly renaming: Renaming
}

/** What a definition goes through before a family is compiled from it. Nothing of it is needed for a request. */
export const definitions = {
  /** Throws an error that says what is wrong with it. */
  check (definition: FamilyDefinition): void {
    const flaw = findFlawInDefinition(definition)
    // A value that is not an object has no name.
    const given = definition as FamilyDefinition | undefined
    if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_DEFINITION(given?.name, flaw)
  },

  extend (definition: FamilyDefinition, extension: AnyExtension): FamilyDefinition {
    return extendDefinition(definition, extension)
  },

  /** @param family the one that was compiled from the definition */
  rename (definition: FamilyDefinition, family: Family, names: Readonly<Record<string, string>>): RenamedDefinition {
    const renaming = makeRenaming(family, names)
    return { definition: renameDefinition(definition, names), renaming }
  }
}

export type Definitions = typeof definitions
