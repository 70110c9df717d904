// The contenders: the file in servers/, its settings, its scenarios, and the expert to compare it with.
const reads = ['page', 'numbered', 'one']
const writes = ['operation']
const all = [...reads, ...writes]
const ours = { file: 'ours.js', scenarios: all }
const expert = { file: 'expert.js', expert: 'expert' }

export const contenders = {
  floor: { title: 'floor', file: 'floor.js', scenarios: all, expert: 'expert' },
  expert: { ...expert, title: 'expert, SQLite', scenarios: all },
  'expert-json': { ...expert, title: 'expert, JSON by SQLite', scenarios: reads, args: { way: 'json' } },
  'expert-group': { ...expert, title: 'expert, group commit', scenarios: writes, args: { way: 'group' } },
  'ours-memory': { ...ours, title: 'ours, memory', args: { storage: 'memory' }, expert: 'expert' },
  'ours-sqlite': { ...ours, title: 'ours, SQLite', args: { storage: 'sqlite' }, expert: 'expert' },
  'ours-postgres': { ...ours, title: 'ours, PostgreSQL', args: { storage: 'postgres' }, expert: 'expert-postgres' },
  'expert-postgres': {
    title: 'expert, PostgreSQL',
    file: 'expert-postgres.js',
    scenarios: all,
    expert: 'expert-postgres'
  },
  platformatic: {
    title: 'Platformatic, SQLite',
    file: 'platformatic.js',
    scenarios: all,
    expert: 'expert',
    needsNode: 22,
    writesLess: true
  },
  feathers: { title: 'Feathers, SQLite', file: 'feathers.js', scenarios: all, expert: 'expert', needsNode: 22 },
  express: { title: 'Express, SQLite', file: 'express.js', scenarios: all, expert: 'expert' }
}

export const inShort = ['floor', 'expert', 'ours-sqlite']

/** The selected contenders; with each of ours, the same from every other checkout, to compare commits. */
export function chooseContenders (names, checkouts) {
  return names.flatMap(name => {
    const contender = { name, ...contenders[name] }
    const others = contender.file === 'ours.js' ? checkouts : []
    return [contender, ...others.map(({ name: other, folder }) => ({
      ...contender,
      name: `${name}@${other}`,
      title: `${contender.title} (${other})`,
      args: { ...contender.args, checkout: folder }
    }))]
  })
}
