/**
 * A program and its arguments, for `spawn` and `execFile`, without what tap adds to every process of Node that a test
 * starts: the coverage of the compiler, of npm or of a server that will be killed is of no use, and makes each of them
 * start and run at half its speed. The compiler, a program in Go, ends before it needs its memory back.
 */
export function unmeasured (program: string, parameters: readonly string[]): [program: string, parameters: string[]] {
  return ['env', ['NODE_OPTIONS=', 'GOGC=off', program, ...parameters]]
}
