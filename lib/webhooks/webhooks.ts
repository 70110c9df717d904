import type { FastifyInstance, FastifyRequest } from 'fastify'
import {
  defineFamily, errorCodes, type FamilyMount, type FamilyOptions, findMounts, invalidBody, makeValidator, type Storage,
  Type
} from '../index.js'
import { consumersTable } from '../tools/index.js'
import { deliveries, deliveriesTable, openDeliveries } from './deliveries.js'
import { makeSecret, secretPattern, type Sources } from './event.js'
import { findUrlFlaw } from './request.js'
import { sendAgainAction, Sender, type WebhookSettings } from './sender.js'

export type { WebhookSettings } from './sender.js'

const hour = 3_600_000

// Timers of Node fire at once if they are longer.
const Milliseconds = Type.Optional(Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 }))
const findSettingFlaws = makeValidator(Type.Object({
  allowPrivate: Type.Optional(Type.Boolean()),
  timeout: Milliseconds,
  retryDelay: Milliseconds,
  maxRetryDelay: Milliseconds,
  giveUpAfter: Milliseconds
} satisfies Record<keyof WebhookSettings, unknown>, { additionalProperties: false }))

const Secret = Type.String({
  pattern: secretPattern,
  maxLength: 100,
  writeOnly: true,
  description: 'Signs the events: whsec_ and the base64 of 24 to 64 bytes. Made where none is given, and shown once'
})
const Reason = Type.String({ minLength: 1, maxLength: 1000, description: 'Why no events are sent' })
const NameList = (description: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: 100, description }))

const WebhookFields = Type.Object({
  id: Type.String({ description: 'The id of the webhook' }),
  url: Type.String({ maxLength: 2000, description: 'Where events are sent to', examples: ['https://example.org/events'] }),
  secret: Type.Optional(Secret),
  families: NameList('The families whose events are sent, such as deals. Default: all'),
  actions: NameList('The actions whose events are sent, such as HoldDeal. Default: all'),
  status: Type.Union([Type.Literal('active'), Type.Literal('paused'), Type.Literal('failing')], {
    default: 'active',
    description: 'Whether events are sent'
  }),
  problem: Type.Optional(Reason),
  sentAgainAt: Type.Optional(Type.String({ format: 'date-time', description: 'When a delivery was last sent again' }))
})

const defineWebhooks = (settings: Required<WebhookSettings>) => defineFamily({
  name: 'webhooks',
  singular: 'webhook',
  fields: WebhookFields,
  create: ['url', 'secret', 'families', 'actions'],
  // Its secret is gone, and events were missed.
  remove: { restore: false },
  edit: ['url', 'families', 'actions'],
  prepare ({ item, params }) {
    const flaw = params.url === undefined ? undefined : findUrlFlaw(params.url, settings.allowPrivate)
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
  indexes: ['status'],
  tables: [consumersTable, deliveriesTable],
  onMount: (mount, app) => mountSender(mount, app, settings)
})

/**
 * The family of webhooks with other settings.
 *
 * @example
 * app.register(makeWebhooks({ allowPrivate: true }), { storage })
 */
export function makeWebhooks (settings: WebhookSettings = {}): ReturnType<typeof defineWebhooks> {
  const [flaw] = findSettingFlaws(settings)
  if (flaw !== undefined) throw refuseSetting(`the option "${flaw.pointer.slice(1)}" ${flaw.detail}`)
  const { allowPrivate = false, timeout = 10_000, retryDelay = 5000 } = settings
  const { maxRetryDelay = 6 * hour, giveUpAfter = 72 * hour } = settings
  return defineWebhooks({ allowPrivate, timeout, retryDelay, maxRetryDelay, giveUpAfter })
}

function refuseSetting (flaw: string): Error {
  return new errorCodes.FST_DEALBOOK_INVALID_OPTION('webhooks', flaw)
}

/** Sends events while the family is mounted. */
async function mountSender (
  mount: FamilyMount, app: FastifyInstance, settings: Required<WebhookSettings>
): Promise<void> {
  const { storage, family } = mount
  if (storage === undefined) {
    const flaw = 'must be a storage: events cannot be sent from one that is chosen by request'
    throw refuseSetting(`the option "storage" ${flaw}`)
  }
  // In a scope of its own, so that those around it are found from here.
  await app.register(async below => { await mountDeliveries(below, mount, storage) })
  let sender: Sender | undefined
  app.addHook('onReady', async () => {
    const mounts = findSources(app, mount)
    if (!mount.isGuarded) warnOfGuarded(mounts)
    const sources: Sources = new Map(mounts.map(({ family, model, url }) =>
      [model.name, { family, model, url: url() }]))
    sender = new Sender({ storage, family, sources, settings, log: app.log })
  })
  // Before the host closes the storage, and before Fastify gives up on the hook.
  app.addHook('preClose', async () => { await sender?.stop((app.initialConfig.pluginTimeout || 10_000) / 2) })
}

function warnOfGuarded (mounts: readonly FamilyMount[]): void {
  const guarded = mounts.find(({ isGuarded }) => isGuarded)
  if (guarded === undefined) return
  const { name } = guarded.model
  process.emitWarning(`fastify-dealbook: ${name} has authorize, but webhooks has none: all clients may create ` +
    `webhooks, which get the events of all ${name}`, { code: 'DEALBOOK_UNGUARDED' })
}

/** The families beside the webhooks whose items are in the same storage, each in one version. */
function findSources (app: FastifyInstance, { prefix, version, storage }: FamilyMount): FamilyMount[] {
  const mounts = findMounts(app, prefix)
  const names = [...new Set(mounts.map(({ model }) => model.name))]
  return names.map(name => {
    const versions = mounts.filter(({ model }) => model.name === name)
    const current = versions.filter(({ hasEnded }) => !hasEnded)
    const chosen = versions.find(each => each.version === version) ?? current.find(({ isDefault }) => isDefault)
    return chosen ?? current[0] ?? versions[0] as FamilyMount
  }).filter(mount => mount.model.isWritable && mount.storage === storage)
}

/** `GET …/webhooks/{id}/deliveries`, for those who may read the webhook. */
async function mountDeliveries (app: FastifyInstance, mount: FamilyMount, storage: Storage): Promise<void> {
  const { prefix, version, authorize, forms, unversioned, onCommitted, ...others } = mount.options as FamilyOptions
  const { name } = mount.model
  const home = version === undefined ? `/${name}` : `/rest/${version}/${name}`
  await app.register(deliveries, {
    ...others,
    prefix: `${home}/:webhook`,
    storage: openDeliveries(storage),
    home: false,
    unversioned: false,
    async authorize (request: FastifyRequest) {
      const { webhook: id } = request.params as { webhook: string }
      await mount.book(request).get(id)
      return { where: [{ field: 'webhook', op: 'eq', values: [id] }] }
    }
  })
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
