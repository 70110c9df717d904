import type { FastifyInstance } from 'fastify'
import type { Checker } from './checker.js'

// Naming something hidden is as naming something that does not exist.

const fields = ['cost', 'code', 'maker', 'weight', 'since', 'quality'] as const
/** Not the names, but near them. */
const near = ['cots', 'coed', 'makr', 'wieght', 'sinse', 'qualiti', 'margn', 'prise', 'secrets'] as const

function listQueries (name: string): string[] {
  return [`${name}=5`, `min-${name}=5`, `max-${name}=5`, `${name}.eq=5`, `${name}.ne=5`, `${name}.has=5`,
    `${name}.regex=5`, `${name}.null=true`, `${name}.gte=5`, `${name}>5`, `${name}>=5`, `${name}<5`, `or.${name}=5`,
    `or1.${name}=5&or1.name=x`, `sort=${name}`, `sort=-${name}`, `sort=name,${name}`, `fields=${name}`,
    `fields=id,${name}`, `expand=${name}`, `by=${name}`, `sum=${name}`, `search=x&${name}=5`, `${name}=5&zzzz=6`]
}

const paths = ['lines.price', 'terms.margin', 'more.secret'] as const

/**
 * Sends the same to an application whose goods have never had what is hidden. The problems are the same, byte for byte,
 * with all that they say about what is allowed and what might have been meant.
 */
export async function walkNames (checker: Checker, shown: FastifyInstance): Promise<void> {
  const compare = async (asked: object, status?: number): Promise<void> => {
    const request = asked as { url: string }
    const { statusCode, body } = await checker.ask(request, status)
    const { statusCode: expected, body: plain } = await shown.inject(request)
    checker.expect(`${statusCode} ${body}`, `${expected} ${plain}`, JSON.stringify(asked))
  }
  const names = [...fields, ...paths]
  for (const [turn, name] of names.entries()) {
    for (const query of listQueries(name)) await compare({ url: `/shop/goods?${query}` }, 400)
    const [query = ''] = listQueries(name).slice(turn)
    await compare({ url: `/shop/goods?${query}&format=xml` }, 400)
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    await compare({ method: 'QUERY', url: '/shop/goods', headers, payload: query }, 400)
    for (const [accept, part] of [['text/csv', '.csv'], ['application/x-ndjson', '.ndjson']]) {
      await compare({ url: `/shop/goods${part}?fields=${name}`, headers: { accept } }, 400)
    }
    for (const query of [`fields=${name}`, `expand=${name}`]) await compare({ url: `/shop/goods/1?${query}` }, 400)
    await compare({ url: `/shop/query/goods/1?fields=${name}` })
  }
  for (const name of near) {
    for (const query of [`${name}=5`, `sort=${name}`, `fields=${name}`, `expand=${name}`]) {
      await compare({ url: `/shop/goods?${query}` }, 400)
    }
  }
  for (const query of ['state=MARK-best', 'state=MARK-none', 'state.ne=MARK-best', 'lines=5', 'terms=5', 'lines.has=x',
    'sort=lines', 'sort=terms', 'more.regex=x', 'terms.null=x']) await compare({ url: `/shop/goods?${query}` }, 400)
  await comparePrincipal(checker)
}

/** Who sent a command, in logs: there, every family has it. */
async function comparePrincipal (checker: Checker): Promise<void> {
  const unknown = 'zzzzzzzzz'
  const logs = ['/goods/commands', '/goods/1/commands', '/rest/commands', '/orders/1/commands']
  for (const [turn, url] of logs.entries()) {
    for (const query of listQueries('principal').filter((_, index) => index % 4 === turn)) {
      const { body } = await checker.ask({ url: `/shop${url}?${query}` }, 400)
      const other = await checker.ask({ url: `/shop${url}?${query.replaceAll('principal', unknown)}` }, 400)
      checker.expect(body.replaceAll('principal', unknown), other.body, `${url}?${query}`)
    }
    for (const query of ['prinzipal=x', 'sort=principals', 'fields=principl']) {
      const { body } = await checker.ask({ url: `/shop${url}?${query}` }, 400)
      checker.expect(/principal(?!s)/.exec(body)?.[0], undefined, `${url}?${query} is not explained by what is hidden`)
    }
  }
}
