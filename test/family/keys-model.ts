type Item = Readonly<Record<string, unknown>> & { readonly id: number | string }

/** One step of a random sequence: what is asked of people and bills. */
export interface KeyedStep {
  readonly family: 'people' | 'bills'
  readonly action: 'create' | 'edit' | 'remove'
  /** Which of the items that there are, or were. */
  readonly index: number
  readonly members: Readonly<Record<string, unknown>>
}

const unique: Record<string, readonly (readonly string[])[]> = {
  people: [['name']],
  bills: [['number'], ['room', 'day']]
}
const references: Record<string, readonly string[]> = { people: ['boss'], bills: ['customer', 'payer'] }

/** The simplest thing that keeps the rules of people and bills. */
export class KeyedModel {
  readonly items: Record<string, Item[]> = { people: [], bills: [] }

  /** The codes that the step may be refused with; none where it is done. */
  judge ({ family, action }: KeyedStep, id: number | string | undefined, after: object): string[] {
    if (action === 'remove') {
      const isUsed = Object.entries(this.items).some(([name, items]) => items.some(item =>
        family === 'people' && !(name === family && item.id === id) && this.#refersTo(name, item, id)))
      return isUsed ? ['in-use'] : []
    }
    const item = after as Item
    const others = this.#list(family).filter(other => other.id !== id)
    const isTaken = unique[family]?.some(row => row.every(field => !isAbsent(item[field])) &&
      others.some(other => row.every(field => other[field] === item[field]))) === true
    const before = this.#list(family).find(other => other.id === id)
    const isDangling = references[family]?.some(field => !isAbsent(item[field]) && item[field] !== before?.[field] &&
      !this.#list('people').some(person => person.id === item[field])) === true
    return [...(isTaken ? ['taken'] : []), ...(isDangling ? ['invalid-body'] : [])]
  }

  put (family: string, item: Item): void {
    this.items[family] = [...this.#list(family).filter(({ id }) => id !== item.id), item]
  }

  remove (family: string, id: number | string): void {
    this.items[family] = this.#list(family).filter(item => item.id !== id)
  }

  #list (family: string): Item[] {
    return this.items[family] as Item[]
  }

  #refersTo (family: string, item: Item, id: number | string | undefined): boolean {
    return references[family]?.some(field => item[field] === id) === true
  }
}

function isAbsent (value: unknown): boolean {
  return value === undefined || value === null
}
