/** The progress as text. @param elapsed milliseconds since the start */
export function describeProgress (what: string, count: number, share: number, elapsed: number): string {
  // The rate is unknown before the first rows.
  if (share === 0) return `${count} ${what}`
  const left = elapsed * (1 - share) / share
  return `${count} ${what}, ${Math.floor(share * 100)} %, ${describeDuration(left)} left`
}

function describeDuration (milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000)
  if (seconds < 100) return `${seconds} s`
  const minutes = Math.ceil(seconds / 60)
  return minutes < 100 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`
}

/** Shows the progress: in a terminal as one line that is rewritten, in a log as a line for each tenth. */
export function makeProgress (what: string, getShare: () => number) {
  const began = performance.now()
  let shown = 0
  return {
    show (count: number): void {
      const share = getShare()
      const text = describeProgress(what, count, share, performance.now() - began)
      if (process.stdout.isTTY) process.stdout.write(`\r${text.padEnd(60)}`)
      else if (Math.floor(share * 10) > shown && share < 1) console.log(text)
      shown = Math.floor(share * 10)
    },
    end (count: number): void {
      const text = `${count} ${what}`
      console.log(process.stdout.isTTY ? `\r${text.padEnd(60)}` : text)
    }
  }
}
