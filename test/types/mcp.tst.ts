import Fastify from 'fastify'
import { mcp, type McpOptions } from 'fastify-dealbook/mcp'
import { describe, expect, test } from 'tstyche'

const app = Fastify()

describe('the plugin of tools', () => {
  test('is registered with its options, or without any', () => {
    expect(app.register).type.toBeCallableWith(mcp)
    expect(app.register).type.toBeCallableWith(mcp, { prefix: '/crm' })
    expect(app.register).type.toBeCallableWith(mcp, {
      prefix: '/crm', logLevel: 'silent', serverInfo: { name: 'acme', version: '1' }
    })
  })

  test('refuses wrong ones', () => {
    expect<{ commandIds: 'always' }>().type.not.toBeAssignableTo<McpOptions>()
    expect<{ serverInfo: { name: string } }>().type.not.toBeAssignableTo<McpOptions>()
    expect(app.register).type.not.toBeCallableWith(mcp, { prefix: '/crm', trustedOrigins: 'https://example.org' })
  })
})
