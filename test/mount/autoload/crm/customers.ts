export { customers as default } from '../../../../lib/index.js'
