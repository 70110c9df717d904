import type { TestRequest } from './app.js'
import { home } from './app.js'
import type { ExpectedOperation } from './operations.js'

/** A form, as a client speaks it. */
export interface Form {
  readonly name: string
  /** The status where the operation changed something. */
  readonly done: number
  /** The status where there was nothing to change. */
  readonly unchanged: number
  /** What the body of the answer shows. */
  readonly shows: 'deal' | 'command' | 'nothing'
  /** The request; undefined where the form has no words for the operation. */
  request (
    operation: ExpectedOperation,
    id: string,
    command: string,
    params?: ExpectedOperation['params']
  ): TestRequest | undefined
}

export const forms: readonly Form[] = [
  {
    name: 'verb',
    done: 200,
    unchanged: 200,
    shows: 'deal',
    request: ({ verb, params: usual }, id, _command, params = usual) => ({
      method: 'PUT',
      url: `${home}/${id}/${verb}`,
      payload: params
    })
  },
  {
    name: 'participle',
    done: 200,
    unchanged: 200,
    shows: 'deal',
    request: ({ participle, params: usual }, id, _command, params = usual) => ({
      method: 'PUT',
      url: `${home}/${id}/${participle}`,
      payload: params
    })
  },
  {
    name: 'update',
    done: 200,
    unchanged: 200,
    shows: 'deal',
    request: ({ action, params: usual }, id, _command, params = usual) => ({
      method: 'PUT',
      url: `${home}/${id}`,
      payload: { action, params }
    })
  },
  {
    name: 'attributes by PUT',
    done: 200,
    unchanged: 200,
    shows: 'deal',
    request: ({ attributes }, id) => attributes && { method: 'PUT', url: `${home}/${id}`, payload: attributes }
  },
  {
    name: 'attributes by PATCH',
    done: 200,
    unchanged: 200,
    shows: 'deal',
    request: ({ attributes }, id) =>
      attributes && {
        method: 'PATCH',
        url: `${home}/${id}`,
        headers: { 'content-type': 'application/merge-patch+json' },
        payload: JSON.stringify(attributes)
      }
  },
  {
    name: 'noun',
    done: 201,
    unchanged: 200,
    shows: 'command',
    request: ({ noun, params: usual }, id, _command, params = usual) => ({
      method: 'POST',
      url: `${home}/${id}/${noun}`,
      payload: params
    })
  },
  {
    name: 'command',
    done: 201,
    unchanged: 201,
    shows: 'command',
    request: ({ action, params: usual }, id, command, params = usual) => ({
      method: 'PUT',
      url: `${home}/${id}/commands/${command}`,
      payload: { action, params }
    })
  },
  {
    name: 'commands',
    done: 201,
    unchanged: 201,
    shows: 'command',
    request: ({ action, params: usual }, id, command, params = usual) => ({
      method: 'PUT',
      url: `/rest/commands/${command}`,
      payload: { deal: id, action, params }
    })
  },
  {
    name: 'POST /command/',
    done: 200,
    unchanged: 200,
    shows: 'nothing',
    request: ({ action, params: usual }, id, _command, params = usual) => ({
      method: 'POST',
      url: `/command/${action}/`,
      payload: { id, ...params }
    })
  }
]

/** Whether the client chooses the id of the command in this form. */
export function hasCommandId ({ name }: Form): boolean {
  return name === 'command' || name === 'commands'
}
