/** How long the items of a list were that were read last: of the next ones, nobody knows before they are read. */
export class ItemLengths {
  /** Characters of one; where they were long, that is remembered for a while. */
  average = 0

  add (count: number, length: number): void {
    if (count > 0) this.average = Math.max(length / count, 0.9 * this.average)
  }
}
