import { resolve } from 'node:path'
import type { Storage } from 'fastify-dealbook'
import { ConflictError, customers, defineFamily, Type } from 'fastify-dealbook'
import { loadItems } from 'fastify-dealbook/tools'
import type { CustomersSource } from './customers-source.js'
import { makeUp, openFile } from './customers-source.js'
import { makeProgress } from './progress.js'

/** Unfinished loads: the row is deleted after the last customer, so that an interrupted load never counts as done. */
export const loads = defineFamily({
  name: 'loads',
  singular: 'load',
  fields: Type.Object({ id: Type.String(), file: Type.Optional(Type.String()) })
})

const id = 'customers'

/**
 * Fills an empty collection from a file or, without one, with a thousand customers. Continues a load that was
 * interrupted, or stopped by a bad row. Several servers may do this at the same time.
 *
 * @param signal stops it; the next start continues
 */
export async function loadFirstCustomers (
  storage: Storage,
  named: string | undefined,
  signal?: AbortSignal
): Promise<void> {
  // In this order: a process that finds customers of an unfinished load also finds that it is unfinished.
  const { items: [first] } = await customers.service({ storage }).find('', { limit: 1 })
  const { items: [begun] } = await loads.service({ storage }).find()
  if (first !== undefined && begun === undefined) return
  const file = chooseFile(named, begun)
  const source = file === undefined ? makeUp(1000) : await openFile(file)
  if (begun === undefined) await loadItems(storage, loads, [file === undefined ? { id } : { id, file }])
  await load(storage, source, signal)
  await finish(storage)
}

function chooseFile (named: string | undefined, begun: { readonly file?: string } | undefined): string | undefined {
  const file = named === undefined ? undefined : resolve(named)
  if (begun === undefined || file === undefined || file === begun.file) return begun?.file ?? file
  throw new Error(`CUSTOMERS is "${named}", but ${begun.file ?? 'generated data'} was loaded in part: ` +
    'remove CUSTOMERS to continue with that, or choose an empty STORAGE')
}

async function load (storage: Storage, source: CustomersSource, signal: AbortSignal | undefined): Promise<void> {
  const progress = makeProgress('customers loaded', source.share)
  try {
    const loaded = await loadItems(storage, customers, source.rows, {
      onProgress: progress.show,
      ...(signal === undefined ? {} : { signal })
    })
    progress.end(loaded)
  } catch (error) {
    const { item, message } = error as { item?: number, message: string }
    if (item === undefined) throw error
    throw new Error(`${source.nameRow(item)}: ${message}; the rows before it are loaded, and the next start continues`)
  }
}

async function finish (storage: Storage): Promise<void> {
  try {
    await storage.commit([{ type: 'delete', family: 'loads', id, expected: 1 }])
  } catch (error) {
    // Another server was faster.
    if (!(error instanceof ConflictError)) throw error
  }
}
