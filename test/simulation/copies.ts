import type { Id, Stored } from '../../lib/index.js'
import type { Database, Made } from './database.js'
import type { Random } from './random.js'

type Sent = Pick<Made, 'family' | 'id' | 'after'>

interface Position {
  readonly timeline: number
  readonly bytes: number
}

interface Record {
  readonly due: number
  readonly made: readonly Sent[]
  readonly position: Position
}

/** A replica: everything arrives in order, and later. */
export class Copy {
  readonly #items = new Map<string, Map<Id, Stored>>()
  readonly #sent: Record[] = []
  #position: Position = { timeline: 1, bytes: 0 }
  #due = 0

  /** @param lag the most that it is behind, in milliseconds */
  constructor (readonly database: Database, readonly random: Random, readonly lag: number) {}

  receive (made: readonly Sent[], position: Position): void {
    const { database, random, lag } = this
    this.#due = Math.max(this.#due, database.now() + random.between(0, random.chance(0.5) ? 5 : lag))
    this.#sent.push({ due: this.#due, made, position })
  }

  items (family: string): ReadonlyMap<Id, Stored> {
    this.#catchUp()
    return this.#items.get(family) ?? new Map()
  }

  get position (): Position {
    this.#catchUp()
    return this.#position
  }

  #catchUp (): void {
    const now = this.database.now()
    while ((this.#sent[0]?.due ?? Infinity) <= now) {
      const { made, position } = this.#sent.shift() as Record
      for (const { family, id, after } of made) {
        let items = this.#items.get(family)
        if (items === undefined) this.#items.set(family, items = new Map())
        if (after === undefined) items.delete(id)
        else items.set(id, after)
      }
      this.#position = position
    }
  }
}
