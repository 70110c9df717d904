export { deals as default } from '../../../../lib/index.js'
export const autoConfig = { version: 'v1' }
