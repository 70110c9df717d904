import type { TObject, TProperties, TSchema, TString } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import type { Family } from '../../core/family/family.js'
import type { Mount } from '../mount.js'
import { nameItem, nameSchema, toPascalCase } from './mark.js'

/** A link, with an example that a reader knows. */
export function describeLink (example: string): TString {
  return Type.String({ format: 'uri-reference', examples: [example] })
}

/** The path of an item, as an example. */
export function makeItemPath ({ prefix, home, family }: Mount): string {
  const { examples = [17] } = family.schema.properties.id as { readonly examples?: readonly unknown[] }
  return `${prefix}${home}/${examples[0]}`
}

/** An item as lists show it. */
export function describeListedItem (mount: Mount): TSchema {
  return allowExpanded(mount, describeItem(mount, mount.family), nameItem(mount))
}

/** An item as it is shown by itself after a write, with links. */
export function describeLinkedItem (mount: Mount): TObject {
  const members = { ...mount.family.schema.properties, links: describeItemLinks(mount) }
  return nameSchema(mount, `Linked${nameItem(mount)}`, Type.Object(members))
}

/** The same where it is read. */
export function describeReadItem (mount: Mount): TSchema {
  const item = describeLinkedItem(mount)
  const shown = allowExpanded(mount, item, `Linked${nameItem(mount)}`)
  return shown === item ? item : nameSchema(mount, `Read${nameItem(mount)}`, shown)
}

function describeItem (mount: Mount, { singular, schema }: Family): TObject {
  return nameSchema(mount, toPascalCase(singular), schema)
}

/** The item, or the same with other items in the place of their ids, as `expand` asks. */
function allowExpanded (mount: Mount, item: TObject, name: string): TSchema {
  const { references } = mount.family
  if (references.size === 0) return item
  const expanded: TProperties = { ...item.properties }
  for (const [field, other] of references) {
    const either = Type.Unsafe({ anyOf: [item.properties[field], describeItem(mount, other)] })
    expanded[field] = item.required?.includes(field) === true ? either : Type.Optional(either)
  }
  return Type.Union([item, nameSchema(mount, `Expanded${name}`, Type.Object(expanded))])
}

/** Where an item leads. */
export function describeItemLinks (mount: Mount): TObject {
  const { prefix, home, family: { references, writable } } = mount
  const self = makeItemPath(mount)
  const further = { log: describeLink(`${self}/commands`), operations: describeLink(`${self}/operations`) }
  const referred = [...references].map(([field, { name }]) =>
    [field, Type.Optional(describeLink(`${prefix}/${name}/1`))])
  return nameSchema(mount, `${nameItem(mount)}Links`, Type.Object({
    self: describeLink(self),
    collection: describeLink(prefix + home),
    ...(writable ? further : {}),
    ...Object.fromEntries(referred)
  }))
}
