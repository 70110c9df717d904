import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../../core/problems.js'
import type { Intent } from '../../core/service/caller.js'
import { intendToRead } from '../../core/service/caller.js'
import { addArticle } from '../../core/values/article.js'
import { didYouMean } from '../../core/values/nearest.js'
import { shorten } from '../../core/values/shorten.js'
import { listWords } from '../forms/forms.js'
import type { Mount } from '../mount.js'
import { retire } from '../retirement.js'
import type { Endpoint } from '../routes.js'
import type { SharedPaths } from '../shared-paths.js'
import { toProblem } from '../to-problem.js'
import { mountUnknown, refuseUnknownMethod, splitPath } from '../unknown.js'

/**
 * Answers with problems where there is nothing: below the path of the family, at its other versions, and on the paths
 * that families share. What there is instead, only those are told whom `authorize` lets in.
 */
export function mountUnknownPaths (
  app: FastifyInstance,
  mount: Mount,
  shared: SharedPaths | undefined,
  endpoints: readonly Endpoint[]
): void {
  const { family, home } = mount
  mountUnknown(app, home, async (request, reply, segments) => {
    retire(reply, mount.retirement)
    refuseUnknownMethod(endpoints, segments, request)
    const [id = '', ...words] = segments.slice(splitPath(home).length)
    await keepOpen([mount], request, id)
    throw explainWord(mount, words)
  })
  if (shared === undefined) return
  shared.endpoints.push(...endpoints.filter(({ isShared }) => isShared === true))
  mountUnknown(app, `/rest/:parameter/${family.name}`, async (request, _reply, [, version = '']) => {
    const here = [...shared.mounts].filter(each => each.family.name === family.name)
    const versions = (await keepOpen(here, request)).flatMap(({ version = [] }) => version)
    throw explainName(`version "${shorten(version)}" of ${family.name}`, version, versions)
  })
  for (const [path, what, names] of [
    ['/query', 'query', shared.queries],
    ['/command', 'command', shared.actions]
  ] as const) {
    mountUnknown(app, path, async (request, _reply, segments) => {
      refuseUnknownMethod(shared.endpoints, segments, request)
      const owners = names.listOwners()
      const open = await keepOpen(owners.map(([, owner]) => owner), request)
      const known = owners.filter(([, owner]) => open.includes(owner)).map(([name]) => name)
      const name = segments[1] ?? ''
      if (known.includes(name)) throw explainShape(what, name)
      throw explainName(name === '' ? `${what} without a name` : `${what} "${shorten(name)}"`, name, known)
    })
  }
  mountUnknown(app, '/rest/commands', async (request, _reply, segments) => {
    refuseUnknownMethod(shared.endpoints, segments, request)
    await keepOpen([...shared.mounts], request)
    throw new Problem('not-found', 'A command is at /rest/commands/{command_id}')
  })
}

/** Those that the caller may know of; what the first of them says where there is none. */
async function keepOpen (mounts: readonly Mount[], request: FastifyRequest, id = ''): Promise<Mount[]> {
  const open: Mount[] = []
  let refusal: unknown
  for (const mount of new Set(mounts)) {
    try {
      await mount.caller(request).authorize(intendToLook(mount, id))
      open.push(mount)
    } catch (error) {
      if (toProblem(error).statusCode >= 500) throw error
      refusal ??= error
    }
  }
  if (open.length === 0 && refusal !== undefined) throw refusal
  return open
}

function intendToLook ({ family }: Mount, text: string): Intent {
  const id = family.readId(text)
  if (id !== undefined) return intendToRead(family, id)
  return { family: family.name, action: 'list', id: undefined, params: {} }
}

function explainWord (mount: Mount, [word, ...deeper]: readonly string[]): Problem {
  const known = listWords(mount)
  const item = addArticle(mount.family.singular)
  if (word === undefined || deeper.length > 0 || known.includes(word)) {
    return new Problem('not-found', `There is nothing at this path of ${item}`)
  }
  return explainName(`"${shorten(word)}" of ${item}`, word, known)
}

function explainName (what: string, name: string, known: readonly string[]): Problem {
  const others = known.length === 0 ? '' : ` There ${known.length === 1 ? 'is' : 'are'} ${known.join(', ')}`
  return new Problem('not-found', `There is no ${what}.${didYouMean(name, known)}${others}`)
}

function explainShape (what: 'query' | 'command', name: string): Problem {
  return new Problem('not-found', what === 'query'
    ? `The query "${name}" is at /query/${name}/{parameter}`
    : `The command "${name}" is sent to /command/${name}/`)
}
