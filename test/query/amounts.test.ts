import t from 'tap'
import { isAmount, readAmount, writeAmount } from '../../lib/core/query/amounts.js'

const ambiguous = (more: string, less: string) => ({ expected: `is ambiguous: write ${more} or ${less}` })
const written = (text: string) => ({ expected: `must be written as ${text}` })

const read: Record<string, Record<string, string | { readonly expected: string }>> = {
  'de-DE': {
    '12,5': '12.5',
    '1234,5': '1234.5',
    ' -7 ': '-7',
    '−7,50': '-7.50',
    '1.234,5': '1234.5',
    '1.234.567': '1234567',
    '12,500': '12.500',
    '1,5e-7': '1.5e-7',
    '12.500': ambiguous('12500', '12,5'),
    '-1.234': ambiguous('-1234', '-1,234'),
    12.5: written('12,5'),
    '0.500': written('0,500'),
    '1,234.5': written('1234,5'),
    '1.23.456': '1.23.456',
    '12 500': '12 500',
    '1,2,3': '1,2,3',
    '12,': '12,',
    '1.234e5': written('1,234e5'),
    '1.234.567e5': '1.234.567e5',
    much: 'much',
    'much,5': 'much,5',
    'a.b': 'a.b',
    '1\n2': '1\n2',
    ['0'.repeat(100)]: '0'.repeat(100),
    '': ''
  },
  'en-GB': {
    12.5: '12.5',
    '12.500': '12.500',
    '1,234.5': '1234.5',
    '1,234,567': '1234567',
    '12,500': ambiguous('12500', '12.5'),
    '12,5': written('12.5'),
    '1.234,5': written('1234.5')
  },
  'en-IN': { '12,34,567': '1234567', '1,234,567': '1,234,567' },
  'fr-FR': { '12 500,5': '12500.5', '12\u202f500': '12500', '12.500': ambiguous('12500', '12,5') },
  'de-CH': { '12’500': '12500', "12'500.5": '12500.5', '12,500': ambiguous('12500', '12.5') },
  'es-ES': { '1.234,5': '1234.5' },
  'ar-EG': { '١٢٫٥': '12.5', '١٬٢٣٤٬٥٦٧': '1234567', 12.5: '12.5' },
  // Not a language: as in JSON.
  '!': { 12.5: '12.5', '12,5': '12,5' }
}

t.test('amounts are read in a language, and refused where others could mean something else', async t => {
  for (const [language, texts] of Object.entries(read)) {
    for (const [text, expected] of Object.entries(texts)) {
      t.strictSame(readAmount(language, 'number', text), typeof expected === 'string' ? { value: expected } : expected,
        `${language}: ${text}`)
    }
  }
  t.strictSame(readAmount('de-DE', 'integer', '12.500'), { value: '12500' }, 'an integer has no fraction')
  t.strictSame(readAmount('en-GB', 'integer', '12.500'), { value: '12.500' }, 'which is then refused')
  const long = `12.5${'0'.repeat(1_000_000)}`
  t.strictSame(readAmount('de-DE', 'number', long), { expected: 'must have at most 100 characters' })
})

t.test('what is shown is read as the same', async t => {
  const languages = Object.keys(read).filter(language => language !== '!')
  for (const language of [...languages, 'sv-SE', 'fa', 'mr', 'pl-PL']) {
    for (const text of ['0', '-1', '12.5', '12.345', '1234567.50', '9007199254740991', '1e-7', '-1.5e-300']) {
      t.strictSame(readAmount(language, 'number', writeAmount(language, text)), { value: text }, `${language}: ${text}`)
    }
  }
  t.equal(writeAmount('de-DE', '1234.5'), '1234,5')
  t.equal(writeAmount('de-DE', 'v1.2'), 'v1.2', 'no amount')
  t.equal(writeAmount('!', '12.5'), '12.5', 'not a language')
})

t.test('which kinds are amounts', async t => {
  const kinds = ['integer', 'number', 'decimal', 'string', 'boolean', 'date', 'date-time', 'json', 'choice'] as const
  t.strictSame(kinds.filter(kind => isAmount({ kind })), ['integer', 'number', 'decimal'])
})
