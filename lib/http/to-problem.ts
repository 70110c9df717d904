import type { ProblemCode } from '../problems.js'
import { Problem, problemCodes } from '../problems.js'

interface ForeignError {
  readonly statusCode?: number
  readonly code?: string
  readonly message?: string
  readonly headers?: Record<string, string>
}

const fastifyCodes: Record<string, ProblemCode> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported-media-type',
  FST_ERR_CTP_BODY_TOO_LARGE: 'body-too-large'
}

/** Any error as a problem: ours, Fastify's own, a host hook's, or a bug, whose text stays inside. */
export function toProblem (error: unknown): Problem {
  if (error instanceof Problem) return error
  const { statusCode, code, message, headers } = (error ?? {}) as ForeignError
  const known = fastifyCodes[code ?? ''] ?? findCode(statusCode)
  if (known === 'internal') return new Problem('internal', 'The fault is on our side; it was logged', { cause: error })
  return new Problem(known, message ?? '', {
    ...(headers === undefined ? {} : { headers }),
    // A host's own status stays, though we have no code for it.
    ...(known === 'bad-request' && statusCode !== undefined ? { status: statusCode } : {}),
    cause: error
  })
}

function findCode (status: number | undefined): ProblemCode {
  if (status === undefined || status < 400 || status >= 600) return 'internal'
  // Of the codes with this status, the one that claims nothing.
  if (status === 400) return 'bad-request'
  for (const [code, known] of Object.entries(problemCodes)) if (known.status === status) return code as ProblemCode
  return status < 500 ? 'bad-request' : 'internal'
}
