import Fastify, { type FastifyInstance, type FastifyPluginAsync, type FastifyServerOptions } from 'fastify'
import { english, type HtmlOptions } from '../../lib/html/index.js'
import { decimal, defineFamily, type FamilyOptions, html, json, Problem, type Storage, Type } from '../../lib/index.js'
import { de } from '../../lib/locales/de.js'

const Line = Type.Object({
  article: Type.String({ minLength: 1, maxLength: 50 }),
  quantity: Type.Integer({ minimum: 1, title: 'Pieces' }),
  price: Type.Optional(decimal({ scale: 2, minimum: 0 })),
  due: Type.Optional(Type.String({ format: 'date' })),
  size: Type.Optional(Type.Union([Type.Literal('small'), Type.Literal('large')])),
  weight: Type.Optional(Type.Number())
})

const words = (verb: string, participle: string, noun: string, action: string) => ({ verb, participle, noun, action })

/** Baskets have rows with all kinds of values. */
export const baskets = defineFamily({
  name: 'baskets',
  singular: 'basket',
  fields: Type.Object({
    id: Type.Integer(),
    name: Type.String({ minLength: 1, title: 'Called' }),
    place: Type.Optional(Type.Object({ city: Type.String({ title: 'Town' }) })),
    rates: Type.Array(decimal({ scale: 2 }), { default: [] }),
    lines: Type.Array(Line, { default: [] })
  }),
  create: ['name', 'place', 'rates', 'lines'],
  edit: ['name', 'rates', 'lines'],
  operations: {
    pack: {
      name: 'pack',
      ...words('pack', 'packed', 'packings', 'PackBasket'),
      params: Type.Object({
        goods: Type.Array(Type.Object({
          article: Type.String({ minLength: 1 }), pieces: Type.Integer({ minimum: 1, title: 'How many' })
        })),
        name: Type.Optional(Type.String({ title: 'New name' })),
        note: Type.Optional(Type.String())
      }),
      prefill: basket => ({
        goods: basket.lines.map(({ article, quantity }) => ({ article, ...quantity < 10 && { pieces: quantity } }))
      }),
      apply (basket, { goods, name = basket.name }) {
        const errors = goods.flatMap(({ article, pieces }, index) => {
          const found = basket.lines.find(line => line.article === article)
          if (found === undefined) return [{ pointer: `/goods/${index}`, detail: 'is not in the basket' }]
          return found.quantity >= pieces ? [] : [{ pointer: `/goods/${index}/pieces`, detail: 'are too many' }]
        })
        if (errors.length > 0) throw new Problem('invalid-body', 'It cannot be packed', { errors })
        return {
          ...basket,
          name,
          lines: basket.lines.map(line => {
            const taken = goods.filter(({ article }) => article === line.article)
            return { ...line, quantity: line.quantity - taken.reduce((sum, { pieces }) => sum + pieces, 0) }
          }).filter(({ quantity }) => quantity > 0)
        }
      }
    }
  },
  labels: {
    de: {
      plural: 'Körbe',
      fields: {
        name: 'Name',
        lines: 'Positionen',
        'lines.article': 'Artikel',
        'lines.price': 'Einzelpreis',
        'lines.size': 'Größe',
        'goods.article': 'Artikel'
      },
      states: { small: 'Klein', large: 'Groß' }
    }
  }
})

export async function openBaskets (
  t: { teardown (close: () => Promise<unknown>): void },
  storage: Storage,
  pages: HtmlOptions = {},
  family: FastifyPluginAsync<FamilyOptions> = baskets,
  logger: FastifyServerOptions['logger'] = false
): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true, logger })
  t.teardown(() => app.close())
  app.register(family, { storage, representations: [json, html(pages)] })
  await app.ready()
  return app
}

export const german: HtmlOptions = { texts: [english, de], language: () => 'de' }

export async function createBasket (app: FastifyInstance, basket: object): Promise<string> {
  const { statusCode, body } = await app.inject({ method: 'POST', url: '/baskets', payload: { name: 'A', ...basket } })
  if (statusCode !== 201) throw new Error(body)
  return `/baskets/${JSON.parse(body).id}`
}
