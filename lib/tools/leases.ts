import { ConflictError, errorCodes, type FamilyShape, keepRow, type Storage, type Stored } from '../index.js'
import { type Interval, toolRuntime } from './system.js'

/** An entry that was set aside after too many failures. */
export interface ParkedEntry {
  readonly id: string
  readonly family: string
  readonly position: number
  readonly attempts: number
  /** The message of the last error. */
  readonly error: string
  readonly at: string
}

/** Consumers keep their positions in this table, beside the log: for `tables` of a definition that needs it. */
export const consumersShape: FamilyShape = {
  name: 'command-consumers',
  fields: [
    { name: 'id', kind: 'string', optional: false, maxLength: 200 },
    { name: 'revision', kind: 'integer', optional: false },
    { name: 'createdAt', kind: 'date-time', optional: false },
    { name: 'updatedAt', kind: 'date-time', optional: false },
    { name: 'position', kind: 'integer', optional: false },
    { name: 'pruned', kind: 'integer', optional: true },
    { name: 'holder', kind: 'string', optional: true, maxLength: 100 },
    { name: 'parked', kind: 'json', optional: false },
    { name: 'retried', kind: 'json', optional: false }
  ],
  indexes: []
}

export interface ConsumerPosition {
  readonly id: string
  readonly position: number
  /** The position when it was added of the last entry that it does not miss; absent from older rows. */
  readonly pruned?: number
  readonly holder?: string | undefined
  readonly parked: readonly ParkedEntry[]
  /** Set aside before, and to be tried again. */
  readonly retried: readonly ParkedEntry[]
}

export type Place = ConsumerPosition & Stored

export const consumers = consumersShape.name

export async function getPlace (storage: Storage, name: string): Promise<Place> {
  const found = await storage.get(consumers, name) as Place | undefined
  if (found !== undefined) return found
  throw new errorCodes.FST_DEALBOOK_INVALID_CONSUMER(`there is no consumer "${name}"`)
}

export async function savePlace (
  storage: Storage, place: ConsumerPosition, current: Place | undefined
): Promise<Place> {
  const change = keepRow(consumers, place, current)
  await storage.commit([change])
  return change.item
}

/** Saves a change of a place. If another process changes it at the same time, it is made again. */
export async function updatePlace (
  storage: Storage, known: Place, change: (place: Place) => Partial<Place>
): Promise<Place> {
  for (let place = known; ;) {
    try {
      return await savePlace(storage, { ...place, ...change(place) }, place)
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error
      place = await getPlace(storage, known.id)
    }
  }
}

/** The right to work as a consumer, until it is lost to another process. It is renewed while it is held. */
export class Lease {
  position: number
  readonly #lost = new AbortController()
  readonly #holder: string | undefined
  readonly #group: LeaseGroup
  #saving: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #renewedAt: number

  /**
   * @param time milliseconds until another process may take it
   * @param takenAt before it was saved: another process counts from when it sees that
   */
  constructor (readonly storage: Storage, public place: Place, readonly time: number, takenAt: number) {
    this.#renewedAt = takenAt
    this.position = place.position
    this.#holder = place.holder
    this.#group = findGroup(storage, time)
    this.#group.add(this)
  }

  /** Aborted when the lease is lost. */
  get signal (): AbortSignal {
    return this.#lost.signal
  }

  /** The part of its time that has passed. */
  get age (): number {
    return (toolRuntime.elapsed() - this.#renewedAt) / this.time
  }

  /** False once another process may have it: after a long stop of this one, no timer may have said so yet. */
  get isHeld (): boolean {
    if (this.age > lostAt) this.lose()
    return !this.signal.aborted
  }

  /** A change that is being saved renews it, too. */
  get isSaving (): boolean {
    return this.#waiting > 0
  }

  lose (): void {
    this.#group.delete(this)
    this.#lost.abort()
  }

  /** Lets another process take it at once. */
  async release (): Promise<void> {
    this.#group.delete(this)
    await this.keep(() => ({ holder: undefined }))
  }

  /** Saves the position and a change, one after the other, and renews the lease by it. */
  async keep (change: (place: Place) => Partial<Place> = () => ({})): Promise<void> {
    await this.#save(() => this.#update(change))
  }

  /** Renews it by a commit for many; alone if another process has changed one of these. */
  async renewBy (committing: Promise<void>, place: Place): Promise<void> {
    await this.#save(() => committing.then(() => place, error => {
      if (error instanceof ConflictError) return this.#update(() => ({}))
      throw error
    }))
  }

  async #update (change: (place: Place) => Partial<Place>): Promise<Place> {
    return await updatePlace(this.storage, this.place, current => {
      // It may have been moved past what was pruned.
      const position = Math.max(this.position, current.position)
      if (current.holder === this.#holder) return { position, ...change(current) }
      this.lose()
      throw new Error('The lease is lost')
    })
  }

  async #save (work: () => Promise<Place>): Promise<void> {
    this.#waiting++
    const saving = this.#saving.then(async () => {
      // Another process sees the change after this moment, and waits from then on.
      const began = toolRuntime.elapsed()
      this.place = await work()
      this.#renewedAt = began
    }).finally(() => { this.#waiting-- })
    this.#saving = saving.catch(() => {})
    await saving
  }
}

// In parts of the time of a lease. Another process may have it soon after the last.
const renewableAt = 0.15
const dueAt = 0.3
const lostAt = 0.7
const checksPerLease = 12
const maxPerCommit = 500

/** The leases of one duration that this process holds in a storage. When one is due, the others are renewed with it. */
class LeaseGroup {
  readonly #leases = new Set<Lease>()
  #timer: Interval | undefined

  constructor (readonly storage: Storage, readonly time: number) {}

  add (lease: Lease): void {
    this.#leases.add(lease)
    this.#timer ??= toolRuntime.setInterval(() => { this.#check() }, Math.ceil(this.time / checksPerLease))
  }

  delete (lease: Lease): void {
    this.#leases.delete(lease)
    if (this.#leases.size > 0) return
    if (this.#timer !== undefined) toolRuntime.clearInterval(this.#timer)
    this.#timer = undefined
  }

  #check (): void {
    const idle = [...this.#leases].filter(({ isHeld, isSaving, age }) => isHeld && !isSaving && age >= renewableAt)
    if (!idle.some(({ age }) => age >= dueAt)) return
    for (let first = 0; first < idle.length; first += maxPerCommit) this.#renew(idle.slice(first, first + maxPerCommit))
  }

  #renew (leases: readonly Lease[]): void {
    // It may have been moved past what was pruned, as in `#update`.
    const changes = leases.map(({ place, position }) =>
      keepRow(consumers, { ...place, position: Math.max(position, place.position) }, place))
    const committing = this.storage.commit(changes)
    // If it fails, it is tried again at the next check, until the lease is lost.
    for (const [index, { item }] of changes.entries()) leases[index]?.renewBy(committing, item).catch(() => {})
  }
}

const groups = new WeakMap<Storage, Map<number, LeaseGroup>>()

function findGroup (storage: Storage, time: number): LeaseGroup {
  let ofStorage = groups.get(storage)
  if (ofStorage === undefined) groups.set(storage, ofStorage = new Map())
  let group = ofStorage.get(time)
  if (group === undefined) ofStorage.set(time, group = new LeaseGroup(storage, time))
  return group
}
