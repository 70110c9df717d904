import { defineFamily, type Service, type Storage, Type } from '../../lib/index.js'

/** Rules take the principal from the context. */
export const papers = defineFamily({
  name: 'papers',
  singular: 'paper',
  fields: Type.Object({
    id: Type.Integer(),
    title: Type.String(),
    author: Type.String(),
    approvedBy: Type.Optional(Type.String()),
    seenBy: Type.Array(Type.String(), { default: [] }),
    line: Type.String()
  }),
  create: ['title'],
  edit: ['title'],
  derive: { line: paper => `${paper.title} of ${paper.author}` },
  initial: (paper, { principal = '' }) => ({ ...paper, author: principal }),
  operations: {
    approve: {
      name: 'approve',
      verb: 'approve',
      participle: 'approved',
      noun: 'approvals',
      action: 'ApprovePaper',
      params: Type.Object({}),
      apply: (paper, _params, { principal = '' }) => ({ ...paper, approvedBy: principal })
    },
    reject: {
      name: 'reject',
      verb: 'reject',
      participle: 'rejected',
      noun: 'rejections',
      action: 'RejectPaper',
      params: Type.Object({}),
      allowed: (paper, _params, { principal = '' }) =>
        `${principal} may not reject what ${paper.approvedBy ?? 'nobody'} has approved`,
      apply: paper => paper
    },
    cite: {
      name: 'cite',
      verb: 'cite',
      participle: 'cited',
      noun: 'citations',
      action: 'CitePaper',
      params: Type.Object({ other: Type.Integer() }),
      with: { other: { family: 'papers', id: ({ other }: { other: number }) => other } },
      allowed: (paper, params) => params?.other !== paper.id || 'It is itself',
      apply: (paper, _params, { principal = '', items: { other } }) => ({
        item: { ...paper, approvedBy: principal },
        others: { other: { ...other, seenBy: [...(other as unknown as typeof paper).seenBy, principal] } }
      })
    },
    see: {
      name: 'see',
      verb: 'see',
      participle: 'seen',
      noun: 'views',
      action: 'SeePaper',
      params: Type.Object({ remark: Type.Optional(Type.String()) }),
      apply: (paper, _params, { principal = '' }) => ({ ...paper, seenBy: [...paper.seenBy, principal] })
    }
  }
})

export type Papers = Service<typeof papers.definition.fields.properties>

export const paperTables = ['papers', 'commands', 'command-consumers']
export const openPapers = (storage: Storage): Papers => papers.service({ storage })
