import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { errorCodes } from '../core/errors.js'
import { type Family, getFamily, keepFamily } from '../core/family/family.js'
import { invalidBody } from '../core/problems.js'
import type { Service } from '../core/service/service.js'
import type { Id, Storage } from '../core/storage/storage.js'
import { findFlaw, membersOf, rules } from '../core/values/rules.js'
import { defineFamily } from '../families.js'
import { findNeighbours, type Mount, type Neighbours } from '../http/mount.js'
import type { FamilyPlugin } from '../http/plugin/define-family.js'
import type { FamilyOptions } from '../http/plugin/options.js'
import { consumersShape } from '../tools/leases.js'
import { deliveries, deliveriesShape, openDeliveries } from './deliveries.js'
import { makeSecret, secretPattern, type Sources } from './event.js'
import { findUrlFlaw } from './request.js'
import { sendAgainAction, Sender, type WebhookSettings } from './sender.js'

export type { WebhookSettings } from './sender.js'

const hour = 3_600_000

const { flag, time } = rules
const settingsRule =
  membersOf({ allowPrivate: flag, timeout: time, retryDelay: time, maxRetryDelay: time, giveUpAfter: time })

const Secret = Type.String({
  pattern: secretPattern,
  maxLength: 100,
  writeOnly: true,
  description: 'Signs the events: whsec_ and the base64 of 24 to 64 bytes. Made where none is given, and shown once'
})
const Reason = Type.String({ minLength: 1, maxLength: 1000, description: 'Why no events are sent' })
const Names = (description: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: 100, description }))

const WebhookFields = Type.Object({
  id: Type.String({ description: 'The id of the webhook' }),
  url: Type.String({ maxLength: 2000, description: 'Where events are sent to', examples: ['https://example.org/events'] }),
  secret: Type.Optional(Secret),
  families: Names('The families whose events are sent, such as deals. Default: all'),
  actions: Names('The actions whose events are sent, such as HoldDeal. Default: all'),
  status: Type.Union([Type.Literal('active'), Type.Literal('paused'), Type.Literal('failing')], {
    default: 'active',
    description: 'Whether events are sent'
  }),
  problem: Type.Optional(Reason),
  sentAgainAt: Type.Optional(Type.String({ format: 'date-time', description: 'When a delivery was last sent again' }))
})

const define = ({ allowPrivate }: Required<WebhookSettings>) => defineFamily({
  name: 'webhooks',
  singular: 'webhook',
  fields: WebhookFields,
  create: ['url', 'secret', 'families', 'actions'],
  edit: ['url', 'families', 'actions'],
  prepare ({ item, params }) {
    const flaw = params.url === undefined ? undefined : findUrlFlaw(params.url, allowPrivate)
    if (flaw !== undefined) throw invalidBody([{ pointer: '/url', detail: flaw }])
    if (params.delivery !== undefined && !String(params.delivery).startsWith(`${item?.id}~`)) {
      throw invalidBody([{ pointer: '/delivery', detail: 'must be the id of a delivery of this webhook' }])
    }
    return { secret: makeSecret() }
  },
  initial: (webhook, { facts }) => ({ ...webhook, secret: webhook.secret ?? facts.secret }),
  operations: {
    pause: {
      name: 'pause',
      verb: 'pause',
      participle: 'paused',
      noun: 'pauses',
      action: 'PauseWebhook',
      summary: 'Send no events until it is resumed',
      params: Type.Object({ reason: Type.Optional(Reason) }),
      changes: ['status', 'problem'],
      allowed: ({ status }) => status !== 'paused' || 'The webhook is paused',
      apply: ({ problem, ...webhook }, { reason }) =>
        ({ ...webhook, status: 'paused', ...(reason === undefined ? {} : { problem: reason }) })
    },
    resume: {
      name: 'resume',
      verb: 'resume',
      participle: 'resumed',
      noun: 'resumptions',
      action: 'ResumeWebhook',
      summary: 'Send events again, first those that were held up',
      params: Type.Object({}),
      changes: ['status', 'problem'],
      allowed: ({ status }) => status !== 'active' || 'The webhook is active',
      apply: ({ problem, ...webhook }) => ({ ...webhook, status: 'active' })
    },
    'rotate-secret': {
      name: 'rotate-secret',
      verb: 'rotate-secret',
      participle: 'secret-rotated',
      noun: 'secret-rotations',
      action: 'RotateWebhookSecret',
      summary: 'Sign with a new secret, which is shown once',
      danger: true,
      params: Type.Object({ secret: Type.Optional(Secret) }),
      changes: ['secret'],
      apply: (webhook, { secret }, { facts }) => ({ ...webhook, secret: secret ?? facts.secret })
    },
    'send-again': {
      name: 'send-again',
      verb: 'send-again',
      participle: 'sent-again',
      noun: 'repetitions',
      action: sendAgainAction,
      summary: 'Send the event of a delivery again',
      params: Type.Object({ delivery: Type.String({ minLength: 1, maxLength: 200, description: 'Its id' }) }),
      allowed: ({ status }) => status === 'active' || `The webhook is ${status}`,
      apply: (webhook, _params, { now }) => ({ ...webhook, sentAgainAt: now })
    },
    fail: {
      name: 'fail',
      verb: 'fail',
      participle: 'failed',
      noun: 'failures',
      action: 'FailWebhook',
      summary: 'Mark it as failing, as its receiver takes no events',
      params: Type.Object({ reason: Reason }),
      changes: ['status', 'problem'],
      allowed: ({ status }, _params, { claims }) => claims.sendsWebhooks !== true
        ? 'Only the sender of the events does this'
        : status === 'active' || `The webhook is ${status}`,
      apply: (webhook, { reason }) => ({ ...webhook, status: 'failing', problem: reason })
    }
  },
  states: { active: 'good', paused: 'neutral', failing: 'bad' },
  title: 'url',
  list: ['url', 'status', 'problem', 'createdAt'],
  indexes: ['status']
})

/**
 * The family of webhooks with other settings.
 *
 * @example
 * app.register(makeWebhooks({ allowPrivate: true }), { storage })
 */
export function makeWebhooks (settings: WebhookSettings = {}): ReturnType<typeof define> {
  const flaw = findFlaw(settingsRule, settings, 'option')
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_OPTION('webhooks', flaw)
  const { allowPrivate = false, timeout = 10_000, retryDelay = 5000 } = settings
  const { maxRetryDelay = 6 * hour, giveUpAfter = 72 * hour } = settings
  const all = { allowPrivate, timeout, retryDelay, maxRetryDelay, giveUpAfter }
  return attach(define(all) as never, all) as never
}

/** The family, and what sends its events while it is mounted. */
function attach (family: FamilyPlugin, settings: Required<WebhookSettings>): FamilyPlugin {
  const mount: FastifyPluginAsync<FamilyOptions> = async (scope, options) => {
    const { storage, prefix = '' } = options
    await scope.register(family, options)
    if (typeof storage === 'function') {
      const flaw = 'the option "storage" must be a storage: events cannot be sent from one that is chosen by request'
      throw new errorCodes.FST_DEALBOOK_INVALID_OPTION('webhooks', flaw)
    }
    await mountDeliveries(scope, family, options, storage)
    await scope.register(async app => {
      let sender: Sender | undefined
      app.addHook('onReady', async () => {
        const own = getFamily(family)
        const neighbours = findNeighbours(scope, app.prefix.replace(/\/+$/, ''))
        const sources = findSources(neighbours, own, storage)
        const mounts = neighbours.mounts.filter(mount => sources.has(mount.family.name))
        if (options.authorize === undefined) warnOfGuarded(mounts)
        const service = family.service({ storage, authorize: () => ({ claims: { sendsWebhooks: true } }) }) as Service
        sender = new Sender({ storage, family: own.renaming?.base ?? own, service, sources, settings, log: app.log })
      })
      // Before the host closes the storage, and before Fastify gives up on the hook.
      app.addHook('preClose', async () => { await sender?.stop((app.initialConfig.pluginTimeout || 10_000) / 2) })
    }, { prefix })
  }
  const plugin = Object.assign(fp(mount, { fastify: '5.x || 6.x', name: 'fastify-dealbook-webhooks' }), {
    definition: family.definition,
    extend: (extension: never) => attach(family.extend(extension) as never, settings),
    rename: (names: never) => attach(family.rename(names) as never, settings),
    service: family.service
  }) as unknown as FamilyPlugin
  keepFamily(plugin, getFamily(family), [consumersShape, deliveriesShape])
  return plugin
}

function warnOfGuarded (mounts: readonly Mount[]): void {
  const guarded = mounts.find(({ isGuarded }) => isGuarded)
  if (guarded === undefined) return
  const { name } = guarded.family
  process.emitWarning(`fastify-dealbook: ${name} has authorize, but webhooks has none: all clients may create ` +
    `webhooks, which get the events of all ${name}`, { code: 'DEALBOOK_UNGUARDED' })
}

/** The families beside the webhooks, preferably of the same version, whose items are in the same storage. */
function findSources (neighbours: Neighbours, own: Family, storage: Storage): Sources {
  const beside = neighbours.mounts.find(({ family }) => family === own) as Mount
  const names = neighbours.mounts.map(({ family }) => family.name)
  const mounts = names.map(name => neighbours.find(name, beside) as Mount)
  return new Map(mounts.filter(mount => mount.family.writable && mount.storage === storage)
    .map(({ family, urls }) => [family.name, { family, url: urls.collection({ params: {} } as FastifyRequest) }]))
}

/** `GET …/webhooks/{id}/deliveries`, for those who may read the webhook. */
async function mountDeliveries (
  scope: FastifyInstance, family: FamilyPlugin, options: FamilyOptions, storage: Storage
): Promise<void> {
  const { prefix = '', version, authorize, forms, unversioned, onCommitted, ...others } = options
  const { name } = getFamily(family)
  const home = version === undefined ? `/${name}` : `/rest/${version}/${name}`
  await scope.register(deliveries, {
    ...others,
    prefix: `${prefix.replace(/\/+$/, '')}${home}/:webhook`,
    storage: openDeliveries(storage),
    home: false,
    unversioned: false,
    async authorize (request: FastifyRequest) {
      const { webhook: id } = request.params as { webhook: string }
      const intent = { family: name, action: 'read', id, params: {} }
      const grant = await authorize?.(request, intent)
      await family.service({ storage, authorize: () => grant }).get(id as Id as never)
      return { where: [{ field: 'webhook', op: 'eq', values: [id] }] }
    }
  } as FamilyOptions)
}

/**
 * The webhooks: URLs to which the events of the families beside it are sent, as CloudEvents, signed as Standard
 * Webhooks says.
 *
 * @example
 * app.register(deals, { storage, prefix: '/crm', version: 'v1' })
 * app.register(webhooks, { storage, prefix: '/crm' })   // POST /crm/webhooks { "url": "https://example.org/events" }
 */
export const webhooks = makeWebhooks()
