import { Problem } from '../../lib/index.js'

/** `done`, or the code of the problem with which it was refused. */
export async function codeOf (work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'done'
  } catch (error) {
    if (error instanceof Problem) return error.code
    throw error
  }
}
