import { Turn } from '../core/storage/turn.js'

/** Writes one after the other, and lets other requests go on from time to time: what people enter can be long. */
export async function writeInTurns<Item, Written> (
  items: readonly Item[],
  write: (item: Item, index: number) => Written
): Promise<Written[]> {
  const turn = new Turn()
  const written: Written[] = []
  for (const item of items) {
    written.push(write(item, written.length))
    if (turn.isOver) await turn.pass()
  }
  return written
}
