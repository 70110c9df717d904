// The schemas that an expert writes for these routes.
const integer = { type: 'integer' }
const string = { type: 'string' }
const customer = { type: 'object', properties: { id: integer, age: integer, children: integer } }
const links = { type: 'object', properties: { self: string, first: string, next: string } }

export const listSchema = {
  querystring: {
    type: 'object',
    properties: {
      page: { type: 'integer', minimum: 1 },
      gt: integer,
      'min-age': integer,
      'max-age': integer,
      maxpagesize: { type: 'integer', minimum: 1, maximum: 1000 }
    }
  },
  response: {
    200: {
      type: 'object',
      properties: { items: { type: 'array', items: customer }, page: integer, pageSize: integer, links }
    }
  }
}

export const singleSchema = {
  params: { type: 'object', properties: { id: integer } },
  response: { 200: customer }
}

export const changeSchema = {
  body: {
    type: 'object',
    required: ['newPrice', 'reason'],
    additionalProperties: false,
    properties: { newPrice: { type: 'number', minimum: 0 }, reason: { type: 'string', minLength: 1 } }
  },
  response: {
    200: {
      type: 'object',
      properties: {
        id: string,
        name: string,
        price: { type: 'number' },
        held: { type: 'boolean' },
        status: string,
        revision: integer,
        createdAt: string,
        updatedAt: string
      }
    }
  }
}
