export { invoices as default } from '../../../family/invoices.js'
