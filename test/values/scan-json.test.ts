import t from 'tap'
import { findFlawInJson } from '../../lib/core/values/json.js'

const limits = { maxMembers: 5, maxDepth: 3 }
const tooMany = { pointer: '', detail: 'must have at most 5 members in all levels together' }
const tooDeep = (pointer: string) => ({ pointer, detail: 'must not be nested more than 3 levels deep' })
const twice = (pointer: string) => ({ pointer, detail: 'is given twice' })

t.test('a JSON text is judged before it is parsed', async t => {
  const table: [string, object | undefined][] = [
    ['', undefined],
    ['1', undefined],
    ['"a,b,c,d,e,f,[[[[["', undefined],
    ['{}', undefined],
    ['[]', undefined],
    ['[[[]]]', undefined],
    // Every member and element counts, and what is empty has none.
    ['[1,2,3,4,5]', undefined],
    ['[1,2,3,4,5,6]', tooMany],
    ['[ 1 , 2 , 3 , 4 , [ ] ]', undefined],
    ['[[],[],[],[],[]]', undefined],
    ['[[1],[2],[3]]', tooMany],
    ['{"a":1,"b":2,"c":3,"d":4,"e":5}', undefined],
    ['{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}', tooMany],
    ['{"a":{"b":{"c":1}},"d":[true]}', undefined],
    ['{"a":{"b":[null,false]},"d":[true]}', tooMany],
    ['{"a":",,,,,,","b":"{[{[{["}', undefined],
    ['{"a":"\\",\\",\\\\","b":"\\\\\\""}', undefined],
    // Deeper than is allowed, with the place.
    ['[[[[]]]]', tooDeep('/0/0/0')],
    ['{"a":[0,{"b~/":[]}]}', tooDeep('/a/1/b~0~1')],
    ['{"a":[[]],"b":[[[]]]}', tooDeep('/b/0/0')],
    ['[[[', undefined],
    ['[[[[', tooDeep('/0/0/0')],
    // A name twice, in one object and however it is spelt.
    ['{"a":1,"a":1}', twice('/a')],
    ['{"a":1,"\\u0061":1}', twice('/a')],
    ['{"__proto__":1,"__proto__":1}', twice('/__proto__')],
    ['{"":1,"":1}', twice('/')],
    ['[{"a":1},{"a":1}]', undefined],
    ['{"a":{"a":{"a":1}}}', undefined],
    ['{"a":[{"b":1,"c":2,"b":3}]}', twice('/a/0/b')],
    ['{"a":"a","b":"a"}', undefined],
    ['["a","a"]', undefined],
    // A long name, but not a long text.
    [`{"${'n'.repeat(1000)}":"${'n'.repeat(2000)}"}`, undefined],
    [`{"a":[{"${'n'.repeat(1001)}":1}]}`, { pointer: '', detail: 'must not have names of more than 1000 characters' }],
    // What is no JSON is for the parser to say.
    ['{"a', undefined],
    ['{"\\x":1}', undefined],
    [']]]', undefined],
    ['}{', undefined],
    ['{\0"\0a\0"\0:1,\0:1}', undefined],
    ['{1,1}', undefined],
    ['nonsense', undefined]
  ]
  for (const [text, flaw] of table) t.strictSame(findFlawInJson(text, limits), flaw, JSON.stringify(text))
})

t.test('it looks no further than the bound', async t => {
  // Were all of it looked at, the name that is given twice at its end would be found.
  const many = `{${Array.from({ length: 100_000 }, (_, n) => `"n${n}":0`).join()},"n99999":0}`
  t.strictSame(findFlawInJson(many, { maxMembers: 1000, maxDepth: 20 })?.pointer, '')
  t.strictSame(findFlawInJson(many, { maxMembers: 200_000, maxDepth: 20 }), twice('/n99999'))
  t.match(findFlawInJson('['.repeat(1_000_000), { maxMembers: 2_000_000, maxDepth: 20 })?.detail, /20 levels deep/)
  const slashes = `["${'\\\\'.repeat(500_000)}"]`
  t.equal(findFlawInJson(slashes, limits), undefined, 'linear in escapes')
})
